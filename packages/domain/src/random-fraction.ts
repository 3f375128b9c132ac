import { randomFillSync } from 'node:crypto';

/**
 * Random bytes per request to the system. An id uses 16. Single requests would take 30 times as long as all
 * other work for an id.
 */
const POOL_BYTES = 4_096;

const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** A random number from 0 to 255/256, in steps of 1/256. Earlier numbers do not predict it. */
export function randomFraction(): number {
  if (used === POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used] ?? 0;
  used += 1;
  return byte / 256;
}
