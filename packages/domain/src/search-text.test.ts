import { expect, test } from '@jest/globals';
import { parseSearchText } from './search-text.ts';

const ULID = '01jd0000000000000000000001';

test.each([
  [`evt_${ULID}`, { kind: 'id', noun: 'event', id: `evt_${ULID}` }],
  [` EM_${ULID.toUpperCase()}\n`, { kind: 'id', noun: 'email', id: `em_${ULID}` }],
  [`xyz_${ULID}`, { kind: 'other', text: `xyz_${ULID}` }],
  ['Jane@Example.net', { kind: 'address', address: 'jane@example.net' }],
  ['Jane Doe <jane@bücher.example>', { kind: 'address', address: 'jane@xn--bcher-kva.example' }],
  ['“jane@example.net”', { kind: 'address', address: 'jane@example.net' }],
  ['<a.b@mail.example>', { kind: 'messageId', messageId: 'a.b@mail.example' }],
  [`"<a@mail.example>"`, { kind: 'messageId', messageId: 'a@mail.example' }],
  ['id@host-without-dot', { kind: 'messageId', messageId: 'id@host-without-dot' }],
  ['Bücher.example.', { kind: 'domain', domain: 'xn--bcher-kva.example' }],
  ['Dr. Who', { kind: 'other', text: 'Dr. Who' }],
  [`'Meadow Shop'`, { kind: 'other', text: 'Meadow Shop' }],
  ['1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed', { kind: 'other', text: '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed' }],
])('%j is read by its form', (written, search) => {
  expect(parseSearchText(written)).toEqual(search);
});

test.each(['', '  ', '""', 'a\0b', 'x'.repeat(1_001)])('%j is no text to look up', (written) => {
  expect(parseSearchText(written)).toBeNull();
});
