import { newEvents, newId } from '@postrider/domain';
import type { Clock, EventData, UnsubscribeTarget } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { recordCause } from '../db/record-cause.ts';
import { unsubscribe } from './sql/suppressions.ts';

/** How the recipient unsubscribed: with a button of the mail program, or on the linked page. */
export type UnsubscribeSource = Exclude<EventData<'email.unsubscribed'>['source'], 'api'>;

export type UnsubscribeStore = ReturnType<typeof createUnsubscribeStore>;

export function createUnsubscribeStore(db: Database, clock: Clock) {
  return {
    /**
     * Suppresses the address for the topic. If the suppression is new, the same statement records
     * `email.unsubscribed`.
     * For a deleted topic, nothing happens: new mail cannot name the topic, and queued mail about it is not
     * sent.
     */
    async unsubscribe(
      { accountId, topicId, address }: UnsubscribeTarget,
      source: UnsubscribeSource,
    ): Promise<void> {
      const data = {
        email_id: null,
        to: address,
        topic: topicId,
        scope: 'topic',
        source,
        occurred_at: clock.now().toISOString(),
      } as const;
      const events = newEvents('email.unsubscribed', [data], clock);
      const id = newId('suppression', clock);
      await recordCause(db, unsubscribe, { accountId, inboundSubject: null, ...events }, [
        address,
        id,
        topicId,
      ]);
    },
  };
}
