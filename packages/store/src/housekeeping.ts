import type { Pool } from 'pg';
import { dropExpired } from './expired-records.ts';
import { finishRemovals } from './remove-webhook.ts';
import type { Removals } from './remove-webhook.ts';

export interface Housekeeping {
  /** Drops remembered answers and notifications whose time is over. @returns how many. */
  dropExpired(): Promise<number>;
  /** Goes on with removals that a DELETE has left behind; one that fails keeps no other from being finished. */
  finishRemovals(): Promise<Removals>;
}

export function createHousekeeping(pool: Pool): Housekeeping {
  return {
    dropExpired: () => dropExpired(pool),
    finishRemovals: () => finishRemovals(pool),
  };
}
