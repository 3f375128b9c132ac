import { newId } from '@postrider/domain';
import type { AccountId, Clock, TopicId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { readPage } from '../db/page.ts';
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

/** What mail can be about, so that a recipient can do without that alone. Another account's topic reads as missing. */
export interface TopicStore {
  create(accountId: AccountId, topic: NewTopic): Promise<TopicId>;
  find(accountId: AccountId, id: TopicId): Promise<Topic | null>;
  /** The newest first. @returns null when the cursor is none of the account's topics. */
  list(accountId: AccountId, request: PageRequest<'topic'>): Promise<Page<Topic> | null>;
  /** Removes the topic with the suppressions about it; its mail stays, but none is handed over. @returns false when there is none. */
  delete(accountId: AccountId, id: TopicId): Promise<boolean>;
}

export function createTopicStore(db: Database, clock: Clock): TopicStore {
  const { topic: topics } = db.prisma;
  return {
    async create(accountId, topic) {
      const id = newId('topic', clock);
      const data = { id, accountId, ...topic, createdAt: clock.now() };
      await mappingUnavailable(() => topics.create({ data, select: { id: true } }));
      return id;
    },
    async find(accountId, id) {
      const row = await mappingUnavailable(() => topics.findFirst({ where: { id, accountId } }));
      return row === null ? null : topicOf(row);
    },
    async list(accountId, request) {
      return mappingUnavailable(() =>
        readPage(request, {
          cursor: (id) => topics.findFirst({ where: { id, accountId }, select: { createdAt: true } }),
          async read({ where, ...range }) {
            const rows = await topics.findMany({ where: { accountId, ...where }, ...range });
            return rows.map(topicOf);
          },
        }),
      );
    },
    async delete(accountId, id) {
      return mappingUnavailable(() =>
        inTransaction(db.pool, async (client) => {
          // First the topic: who is unsubscribing from it is waited for, and who comes later finds none.
          const gone = await client.query('delete from topics where id = $1 and account_id = $2', [
            id,
            accountId,
          ]);
          if (gone.rowCount === 0) return false;
          await run(client, removeSuppressionsOfTopic, [id]);
          return true;
        }),
      );
    },
  };
}

function topicOf({ id, name, description, defaultSubscription, createdAt }: TopicRow): Topic {
  return { id: id as TopicId, name, description, defaultSubscription, createdAt };
}
