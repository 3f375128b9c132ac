import type { IncomingHttpHeaders } from 'node:http';
import { LIMITS } from '@postrider/domain';
import type { FieldFault } from '@postrider/domain';

/** The header's name in answers. */
const FIELD = 'Idempotency-Key';

export type IdempotencyKeyParse =
  | { readonly ok: true; /** null where the request has none */ readonly key: string | null }
  | { readonly ok: false; readonly fault: FieldFault };

/** Joins the values when the request has the header twice. */
export function parseIdempotencyKey(headers: IncomingHttpHeaders): IdempotencyKeyParse {
  const written = headers['idempotency-key'];
  if (written === undefined) return { ok: true, key: null };
  const key = Array.isArray(written) ? written.join(', ') : written;
  if (key.length >= 1 && key.length <= LIMITS.idempotencyKeyLength) return { ok: true, key };
  const message = `must have 1 to ${LIMITS.idempotencyKeyLength} characters`;
  return { ok: false, fault: { field: FIELD, message } };
}
