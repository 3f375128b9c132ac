import { newId, recordEvent } from '@postrider/domain';
import type { Clock, EventData, SuppressionId, UnsubscribeTarget } from '@postrider/domain';
import type { Database } from './database.ts';
import { unsubscribe } from './sql/unsubscribe.ts';
import { runIn } from './statement.ts';

/** How a recipient asked: with a mail program's button, or on the page behind the link. */
export type UnsubscribeSource = Exclude<EventData<'email.unsubscribed'>['source'], 'api'>;

export interface UnsubscribeStore {
  /**
   * Suppresses the address about the topic. If that is new, `email.unsubscribed` exists, in the same transaction.
   * About a topic that is gone there is nothing to do: new mail cannot name it, and what still waits is not handed over.
   */
  unsubscribe(target: UnsubscribeTarget, source: UnsubscribeSource): Promise<void>;
}

export function createUnsubscribeStore(db: Database, clock: Clock): UnsubscribeStore {
  return {
    async unsubscribe({ accountId, topicId, address }, source) {
      await db.transactions.run(async (tx) => {
        const occurredAt = clock.now().toISOString();
        const added = await runIn<{ id: SuppressionId }>(tx.client, unsubscribe, [
          newId('suppression', clock),
          accountId,
          address,
          topicId,
          occurredAt,
        ]);
        if (added.length === 0) return;
        const data = {
          email_id: null,
          to: address,
          topic: topicId,
          scope: 'topic',
          source,
          occurred_at: occurredAt,
        } as const;
        await recordEvent(tx, { type: 'email.unsubscribed', accountId, data }, clock);
      });
    },
  };
}
