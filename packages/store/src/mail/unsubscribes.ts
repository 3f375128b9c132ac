import { newEvents, newId } from '@postrider/domain';
import type { Clock, EventData, UnsubscribeTarget } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { recordCause } from '../db/record-cause.ts';
import { unsubscribe } from './sql/suppressions.ts';

/** How a recipient asked: with a mail program's button, or on the page behind the link. */
export type UnsubscribeSource = Exclude<EventData<'email.unsubscribed'>['source'], 'api'>;

export interface UnsubscribeStore {
  /**
   * Suppresses the address about the topic. If that is new, `email.unsubscribed` exists, by the same statement.
   * About a topic that is gone there is nothing to do: new mail cannot name it, and what still waits is not handed over.
   */
  unsubscribe(target: UnsubscribeTarget, source: UnsubscribeSource): Promise<void>;
}

export function createUnsubscribeStore(db: Database, clock: Clock): UnsubscribeStore {
  return {
    async unsubscribe({ accountId, topicId, address }, source) {
      const occurredAt = clock.now().toISOString();
      const data = {
        email_id: null,
        to: address,
        topic: topicId,
        scope: 'topic',
        source,
        occurred_at: occurredAt,
      } as const;
      const events = newEvents('email.unsubscribed', [data], clock);
      const id = newId('suppression', clock);
      await recordCause(db, unsubscribe, { accountId, inboundSubject: null, ...events }, [
        address,
        id,
        occurredAt,
        topicId,
      ]);
    },
  };
}
