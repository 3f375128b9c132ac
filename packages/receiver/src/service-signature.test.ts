import { describe, expect, test } from '@jest/globals';
import { envelopeBytes, newSigningSecret, signatureHeader } from '@postrider/domain';
import type { EventData, EventId, EventType } from '@postrider/domain';
import fc from 'fast-check';
import { parseEvent, SignatureVerificationError, verifySignature } from './index.ts';
import type { WebhookEvent } from './index.ts';
import * as web from './web.ts';

const at = new Date('2026-11-20T10:15:30.999Z');
const body = envelopeBytes({
  id: 'evt_01jd0000000000000000000001' as EventId,
  type: 'email.sent',
  subject: 'acct_1',
  createdAt: at,
  data: '{"email_id":"em_1","from":"a@example.com","subject":"Grüße 🎉","error":null}',
});

describe('what the service signs', () => {
  test('is read back as the event', () => {
    const secret = newSigningSecret();
    const event = parseEvent({ header: signatureHeader(secret, body, at), body, secret, now: at });
    expect(event).toEqual(JSON.parse(body.toString('utf8')));
  });

  test('is refused with any one byte changed', () => {
    const secret = newSigningSecret();
    const header = signatureHeader(secret, body, at);
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (index, change) => {
        const altered = Buffer.from(body);
        altered[index] = (altered[index] ?? 0) ^ change;
        expect(() => verifySignature({ header, body: altered, secret, now: at })).toThrow(
          SignatureVerificationError,
        );
      }),
    );
  });

  test('has the types that the package publishes', () => {
    // Checked by the compiler: each side is assignable to the other, for every type.
    type Published<T extends EventType> = Extract<WebhookEvent, { type: T }>['data'];
    type Same = {
      [T in EventType]: EventData<T> extends Published<T>
        ? Published<T> extends EventData<T>
          ? T
          : never
        : never;
    }[EventType];
    const same = (type: EventType): Same => type;
    expect(same('email.sent')).toBe('email.sent');
  });

  test('is accepted by both entries, for any bytes, any secret of our form and any time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array(),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.integer({ min: 0, max: 4_102_444_800 }),
        async (bytes, random, second) => {
          const secret = `whsec_${Buffer.from(random).toString('base64url')}`;
          const now = new Date(second * 1000 + 1);
          const request = {
            header: signatureHeader(secret, Buffer.from(bytes), now),
            body: bytes,
            secret,
            now,
          };
          verifySignature(request);
          await web.verifySignature(request);
        },
      ),
    );
  });
});
