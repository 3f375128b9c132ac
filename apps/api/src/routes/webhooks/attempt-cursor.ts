import type { AttemptCursor } from '@postrider/store';

/** What the columns hold at the most: `bigint`, `bigint` and `smallint`. */
const BIGINT_MAX = 2n ** 63n - 1n;
const SMALLINT_MAX = 2 ** 15 - 1;
/** The last microsecond that JavaScript's dates have; Postgres goes further. */
const STARTED_US_MAX = 8_640_000_000_000_000_000n;

/** The cursor as customers get it: to them it is opaque. */
export function writeCursor({ startedUs, deliveryId, attempt }: AttemptCursor): string {
  return Buffer.from(`${startedUs}.${deliveryId}.${attempt}`).toString('base64url');
}

/** @returns null for a text that `writeCursor` does not write. */
export function readCursor(text: string): AttemptCursor | null {
  const parts = /^(\d{1,19})\.(\d{1,19})\.(\d{1,5})$/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  if (parts === null) return null;
  const [, startedUs = '', deliveryId = '', attempt = ''] = parts;
  const cursor = { startedUs: BigInt(startedUs), deliveryId: BigInt(deliveryId), attempt: Number(attempt) };
  const fits =
    cursor.startedUs <= STARTED_US_MAX && cursor.deliveryId <= BIGINT_MAX && cursor.attempt <= SMALLINT_MAX;
  return fits && writeCursor(cursor) === text ? cursor : null;
}
