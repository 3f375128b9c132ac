import { LIMITS } from '@postrider/domain';
import type { AccountId, DeadLetterId, DeadLetterReason, EventId, WebhookId } from '@postrider/domain';
import type { Database } from './database.ts';
import { mappingUnavailable } from './errors.ts';
import { replayDeadLetter } from './sql/replay-dead-letter.ts';
import { runIn } from './statement.ts';

/** Contract 2.4. */
export interface DeadLetter {
  readonly id: DeadLetterId;
  readonly webhookId: WebhookId;
  readonly eventId: EventId;
  readonly type: string;
  readonly attempts: number;
  readonly reason: DeadLetterReason;
  readonly lastError: string;
  /** The last answer's status; null when no answer ever came. */
  readonly statusCode: number | null;
  readonly createdAt: Date;
}

export interface DeadLetterStore {
  /** The newest first, at most 100 (contract 8). */
  list(accountId: AccountId): Promise<DeadLetter[]>;
  /**
   * Queues the event again at once with a fresh set of attempts and removes the dead letter.
   *
   * @returns false when the dead letter or its webhook is gone; of concurrent replays one returns true.
   */
  replay(accountId: AccountId, id: DeadLetterId): Promise<boolean>;
  /**
   * The ids of a webhook's dead letters, the oldest first, in pages of 500: it may have a hundred thousand. Only those
   * made until `until`: a replayed event that fails again at once would otherwise come round for ever.
   */
  idsOfWebhook(accountId: AccountId, webhookId: WebhookId, until: Date): AsyncIterable<DeadLetterId[]>;
}

const IDS_PER_PAGE = 500;

export function createDeadLetterStore(db: Database): DeadLetterStore {
  return {
    async list(accountId) {
      const rows = await mappingUnavailable(async () =>
        db.prisma.deadLetter.findMany({
          where: { accountId, webhookId: { notIn: await beingRemoved(db, accountId) } },
          orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
          take: LIMITS.deadLettersListed,
          omit: { data: true },
        }),
      );
      return rows.map((row) => ({
        id: row.id as DeadLetterId,
        webhookId: row.webhookId as WebhookId,
        eventId: row.eventId as EventId,
        type: row.type,
        attempts: row.attempts,
        reason: row.reason,
        lastError: row.lastError,
        statusCode: row.statusCode,
        createdAt: row.createdAt,
      }));
    },
    async replay(accountId, id) {
      return db.transactions.run(async (tx) => {
        const rows = await runIn<{ webhook_id: WebhookId }>(tx.client, replayDeadLetter, [accountId, id]);
        for (const row of rows) tx.wakeWebhook(row.webhook_id);
        return rows.length > 0;
      });
    },
    idsOfWebhook: (accountId, webhookId, until) => pagesOfIds(db, accountId, webhookId, until),
  };
}

/** Webhooks whose DELETE has answered and whose dead letters are still on their way out. */
async function beingRemoved(db: Database, accountId: AccountId): Promise<string[]> {
  const rows = await db.prisma.webhook.findMany({
    where: { accountId, removedAt: { not: null } },
    select: { id: true },
  });
  return rows.map(({ id }) => id);
}

async function* pagesOfIds(
  db: Database,
  accountId: AccountId,
  webhookId: WebhookId,
  until: Date,
): AsyncGenerator<DeadLetterId[]> {
  let after = '';
  for (;;) {
    const where = { accountId, webhookId, createdAt: { lte: until }, id: { gt: after } };
    const rows = await mappingUnavailable(() =>
      db.prisma.deadLetter.findMany({
        where,
        orderBy: { id: 'asc' },
        take: IDS_PER_PAGE,
        select: { id: true },
      }),
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map((row) => row.id as DeadLetterId);
    after = last.id;
  }
}
