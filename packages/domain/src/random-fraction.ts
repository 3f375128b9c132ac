import { randomFillSync } from 'node:crypto';

/**
 * So many bytes are asked for at a time: an id takes sixteen, and asking for each by itself takes thirty times as long as
 * all the rest of making an id.
 */
const POOL_BYTES = 4_096;

const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** A random number of at least 0 and less than 1, in steps of 1/256; none can be told from those before. */
export function randomFraction(): number {
  if (used === POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used] ?? 0;
  used += 1;
  return byte / 256;
}
