import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { envelopeBytes } from './envelope.ts';
import type { EnvelopeParts } from './envelope.ts';
import { EVENT_TYPES } from './event-types.ts';
import type { EventId } from './ids.ts';

const parts: EnvelopeParts = {
  id: 'evt_01jd0000000000000000000001' as EventId,
  type: 'email.sent',
  subject: 'acct_01jd0000000000000000000002',
  createdAt: new Date('2026-11-20T10:15:30.120Z'),
  data: '{"email_id":"em_1","from":"Jörg <j@example.com>","subject":"Grüße 🎉","error":null}',
};

describe('the body of a delivery (contract 2.2)', () => {
  test('is these bytes: keys in the contract order, milliseconds, UTF-8, nothing between', () => {
    expect(envelopeBytes(parts).toString('utf8')).toBe(
      '{"id":"evt_01jd0000000000000000000001","type":"email.sent",' +
        '"subject":"acct_01jd0000000000000000000002","created_at":"2026-11-20T10:15:30.120Z",' +
        '"data":{"email_id":"em_1","from":"Jörg <j@example.com>","subject":"Grüße 🎉","error":null}}',
    );
  });

  test('counts bytes, not characters', () => {
    const text = envelopeBytes(parts).toString('utf8');
    expect(envelopeBytes(parts).length).toBe(Buffer.byteLength(text));
    expect(envelopeBytes(parts).includes(Buffer.from('🎉', 'utf8'))).toBe(true);
  });

  test('carries the stored text of data untouched: its spaces, key order and escapes stay', () => {
    const data = '{ "b":1,\n"a":"\\u00e9\\ud83c", "n":1.0 }';
    expect(
      envelopeBytes({ ...parts, data })
        .toString('utf8')
        .endsWith(`,"data":${data}}`),
    ).toBe(true);
  });

  test('is the same on every attempt made from the same text', () => {
    expect(envelopeBytes({ ...parts }).equals(envelopeBytes(parts))).toBe(true);
  });

  test('escapes a subject that holds quotes', () => {
    const subject = 'acct_1/inbound/a"b\\c';
    expect((JSON.parse(envelopeBytes({ ...parts, subject }).toString()) as { subject: string }).subject).toBe(
      subject,
    );
  });

  test('any parts come back by JSON.parse, keys in order', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...EVENT_TYPES),
        fc.string({ unit: 'grapheme' }),
        fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (type, subject, createdAt, data) => {
          const text = JSON.stringify(data);
          const body = envelopeBytes({ ...parts, type, subject, createdAt, data: text }).toString('utf8');
          const parsed = JSON.parse(body) as Record<string, unknown>;
          expect(Object.keys(parsed)).toEqual(['id', 'type', 'subject', 'created_at', 'data']);
          expect(parsed).toEqual({
            id: parts.id,
            type,
            subject,
            created_at: createdAt.toISOString(),
            data: JSON.parse(text) as unknown,
          });
        },
      ),
    );
  });
});
