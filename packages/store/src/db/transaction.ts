import type { EventBatch, OutboxTransaction, WebhookId } from '@postrider/domain';
import type { Prisma, PrismaClient } from '../generated/client.ts';
import { mappingUnavailable } from './errors.ts';
import { eventValues } from './sql/event-ctes.ts';
import { recordEvents } from './sql/record-events.ts';
import { runIn } from './statement.ts';
import type { WakeUps } from './wake-ups.ts';

/**
 * An open transaction. Only `Transactions.run` makes one, and it stops working when `run` ends. So a function
 * that takes one can only be called inside a transaction.
 */
export class Transaction implements OutboxTransaction {
  readonly #client: Prisma.TransactionClient;
  readonly #wokenWebhooks = new Set<WebhookId>();
  #open = true;

  private constructor(client: Prisma.TransactionClient) {
    this.#client = client;
  }

  /** Runs `work` in the transaction of `client`, and closes the `Transaction` afterwards. */
  static async during<T>(
    client: Prisma.TransactionClient,
    work: (tx: Transaction) => Promise<T>,
  ): Promise<{ result: T; wokenWebhooks: readonly WebhookId[] }> {
    const tx = new Transaction(client);
    try {
      const result = await work(tx);
      return { result, wokenWebhooks: [...tx.#wokenWebhooks] };
    } finally {
      tx.#open = false;
    }
  }

  /** The client for the store's own statements. @throws Error once the transaction has ended. */
  get client(): Prisma.TransactionClient {
    if (!this.#open) throw new Error('the transaction has ended');
    return this.#client;
  }

  async appendEvents(batch: EventBatch): Promise<void> {
    const rows = await runIn<{ webhookId: WebhookId }>(this.client, recordEvents, eventValues(batch));
    for (const { webhookId } of rows) this.wakeWebhook(webhookId);
  }

  /** Once the transaction has committed, the relay gets a wake-up for this webhook. */
  wakeWebhook(id: WebhookId): void {
    this.#wokenWebhooks.add(id);
  }
}

/** Limits for the wait for a connection, and for the whole transaction. */
const MAX_WAIT_MS = 5_000;
const TRANSACTION_TIMEOUT_MS = 15_000;

export type Transactions = ReturnType<typeof createTransactions>;

export function createTransactions(prisma: () => PrismaClient, wakeUps: Pick<WakeUps, 'send'>) {
  return {
    /**
     * Runs `work` in one transaction. It commits when `work` resolves, and rolls back when `work` rejects.
     * The relay is woken after the commit, never inside the transaction.
     *
     * @throws StoreUnavailableError when Postgres cannot be reached; the transaction may have committed.
     */
    async run<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
      const { result, wokenWebhooks } = await mappingUnavailable(() =>
        prisma().$transaction((client) => Transaction.during(client, work), {
          maxWait: MAX_WAIT_MS,
          timeout: TRANSACTION_TIMEOUT_MS,
        }),
      );
      if (wokenWebhooks.length > 0) wakeUps.send({ webhooks: wokenWebhooks, mail: false });
      return result;
    },
  };
}
