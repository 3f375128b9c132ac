import { expect, test } from '@jest/globals';
import { utcTimestamp } from './utc-timestamp.ts';

test.each([
  ['2026-11-20T10:15:34.123Z', '2026-11-20T10:15:34.123Z'],
  ['2026-11-20T10:15:34Z', '2026-11-20T10:15:34.000Z'],
  ['2026-11-20T10:15:34.1Z', '2026-11-20T10:15:34.100Z'],
  ['2026-11-20T10:15:34.123987Z', '2026-11-20T10:15:34.123Z'],
  ['2026-11-20T10:15:34+02:00', '2026-11-20T08:15:34.000Z'],
  ['2026-11-20T23:30:00.5-01:00', '2026-11-21T00:30:00.500Z'],
])('%s is %s', (text, utc) => {
  expect(utcTimestamp(text)).toBe(utc);
});

test('a time without a zone is UTC, wherever this runs', () => {
  expect(utcTimestamp('2026-11-20T10:15:34.123')).toBe('2026-11-20T10:15:34.123Z');
});

test.each([
  '',
  '1',
  '2026',
  '2026-11-20',
  '2026-02-30T00:00:00Z',
  '2026-11-20T25:00:00Z',
  'Fri, 20 Nov 2026 10:15:34 GMT',
  '+010000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-01:00',
  '0000-01-01T00:00:00+01:00',
  '2026-11-20T10:15:34Z\n',
])('%j is no moment that can be written with milliseconds', (text) => {
  expect(utcTimestamp(text)).toBeNull();
});
