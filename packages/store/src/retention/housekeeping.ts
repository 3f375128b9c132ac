import type { Pool } from 'pg';
import { finishRemovals } from '../webhooks/remove-webhook.ts';
import type { Removals } from '../webhooks/remove-webhook.ts';
import { dropExpired } from './expired-records.ts';
import { removeInboxes } from './remove-inboxes.ts';
import type { InboxRemovals } from './remove-inboxes.ts';

export type Housekeeping = ReturnType<typeof createHousekeeping>;

export function createHousekeeping(pool: Pool) {
  return {
    /** Deletes remembered answers and notifications that have expired. @returns how many. */
    dropExpired: async (): Promise<number> => dropExpired(pool),
    /** Finishes removals that a DELETE has left. A removal that fails does not stop the others. */
    finishRemovals: async (): Promise<Removals> => finishRemovals(pool),
    /** Deletes rows of deleted inboxes, some of each inbox. */
    removeInboxes: async (): Promise<InboxRemovals> => removeInboxes(pool),
  };
}
