import { createHmac, randomBytes } from 'node:crypto';
import type { WebhookEvent } from '../webhook-event.ts';

/** Crockford's base 32, in lower case: the digits of our ids. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';

const TIME_KEYS: ReadonlySet<string> = new Set(['created_at', 'occurred_at', 'received_at']);

/** A sample as a new event: a new id, and all its times are now. */
export function newEvent(sample: WebhookEvent, now: Date): WebhookEvent {
  const at = now.toISOString();
  const timed: unknown = JSON.parse(JSON.stringify(sample), (key, value: unknown) =>
    TIME_KEYS.has(key) ? at : value,
  );
  return { ...(timed as WebhookEvent), id: newEventId(now) };
}

/** `evt_` and a ULID in lower case: 10 digits for the milliseconds and 16 random digits. */
function newEventId(now: Date): string {
  const time = Array.from({ length: 10 }, (_, index) => Math.floor(now.getTime() / 32 ** (9 - index)) % 32);
  const random = [...randomBytes(16)].map((byte) => byte % 32);
  return `evt_${[...time, ...random].map((digit) => DIGITS[digit]).join('')}`;
}

/** The value of the signature header (contract 6.3). */
export function signatureHeader(secret: string, body: string, at: Date): string {
  const t = Math.floor(at.getTime() / 1000);
  return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`;
}

/** A signing secret like those of the service. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}
