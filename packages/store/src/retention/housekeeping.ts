import type { Pool } from 'pg';
import { finishRemovals } from '../webhooks/remove-webhook.ts';
import type { Removals } from '../webhooks/remove-webhook.ts';
import { dropExpired } from './expired-records.ts';
import { removeInboxes } from './remove-inboxes.ts';
import type { InboxRemovals } from './remove-inboxes.ts';

export interface Housekeeping {
  /** Drops remembered answers and notifications whose time is over. @returns how many. */
  dropExpired(): Promise<number>;
  /** Goes on with removals that a DELETE has left behind; one that fails keeps no other from being finished. */
  finishRemovals(): Promise<Removals>;
  /** Deletes the rows of deleted inboxes, some of each. */
  removeInboxes(): Promise<InboxRemovals>;
}

export function createHousekeeping(pool: Pool): Housekeeping {
  return {
    dropExpired: () => dropExpired(pool),
    finishRemovals: () => finishRemovals(pool),
    removeInboxes: () => removeInboxes(pool),
  };
}
