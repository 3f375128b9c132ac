import { newId } from '@postrider/domain';
import type { AccountId, Clock, TopicId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { readRows } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { inTransaction } from '../db/pool.ts';
import { run } from '../db/statement.ts';
import type { Topic as TopicRow } from '../generated/client.ts';
import { removeSuppressionsOfTopic } from './sql/suppressions.ts';

export interface NewTopic {
  readonly name: string;
  readonly description: string | null;
  readonly defaultSubscription: 'opt_in' | 'opt_out';
}

export interface Topic extends NewTopic {
  readonly id: TopicId;
  readonly createdAt: Date;
}

/**
 * Topics of mail. A recipient can unsubscribe from one topic and still get the rest. Another account's topic
 * reads as missing.
 */
export type TopicStore = ReturnType<typeof createTopicStore>;

export function createTopicStore(db: Database, clock: Clock) {
  const { topic: topics } = db.prisma;
  return {
    async create(accountId: AccountId, topic: NewTopic): Promise<TopicId> {
      const id = newId('topic', clock);
      const data = { id, accountId, ...topic, createdAt: clock.now() };
      await topics.create({ data, select: { id: true } });
      return id;
    },
    async find(accountId: AccountId, id: TopicId): Promise<Topic | null> {
      const row = await topics.findFirst({ where: { id, accountId } });
      return row === null ? null : topicOf(row);
    },
    /** The newest first. @returns null when the cursor is not a topic of the account. */
    async list(accountId: AccountId, request: PageRequest<'topic'>): Promise<Page<Topic> | null> {
      return readRows(request, topics, { accountId }, (rows) => rows.map(topicOf));
    },
    /** Changes the given fields. @returns false when the topic does not exist. */
    async update(
      accountId: AccountId,
      id: TopicId,
      changes: Partial<Pick<NewTopic, 'name' | 'description'>>,
    ): Promise<boolean> {
      return (await topics.updateMany({ where: { id, accountId }, data: changes })).count > 0;
    },
    /**
     * Deletes the topic and its suppressions. Its mail stays, but queued mail about it is not sent.
     *
     * @returns false when the topic does not exist.
     */
    async delete(accountId: AccountId, id: TopicId): Promise<boolean> {
      return inTransaction(db.pool, async (client) => {
        // The topic first: this waits for running unsubscribes, and later unsubscribes find no topic.
        const gone = await client.query('delete from topics where id = $1 and account_id = $2', [
          id,
          accountId,
        ]);
        if (gone.rowCount === 0) return false;
        await run(client, removeSuppressionsOfTopic, [id]);
        return true;
      });
    },
  };
}

function topicOf({ id, name, description, defaultSubscription, createdAt }: TopicRow): Topic {
  return { id: id as TopicId, name, description, defaultSubscription, createdAt };
}
