import type { EventBatch, OutboxTransaction, WebhookId } from '@postrider/domain';
import type { Prisma, PrismaClient } from '../generated/client.ts';
import { mappingUnavailable } from './errors.ts';
import { eventValues } from './sql/event-ctes.ts';
import { recordEvents } from './sql/record-events.ts';
import { runIn } from './statement.ts';
import type { WakeUps } from './wake-ups.ts';

/**
 * An open transaction. It can only be had from `Transactions.run` and is of no use once that has ended, so
 * whatever takes one cannot be called outside of a transaction.
 */
export class Transaction implements OutboxTransaction {
  readonly #client: Prisma.TransactionClient;
  readonly #wokenWebhooks = new Set<WebhookId>();
  #open = true;

  private constructor(client: Prisma.TransactionClient) {
    this.#client = client;
  }

  /** Runs `work` in a transaction made of `client`, and afterwards shuts it for good. */
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

  /** The client of the store's own statements. @throws Error once the transaction has ended. */
  get client(): Prisma.TransactionClient {
    if (!this.#open) throw new Error('the transaction has ended');
    return this.#client;
  }

  async appendEvents(batch: EventBatch): Promise<void> {
    const rows = await runIn<{ webhookId: WebhookId }>(this.client, recordEvents, eventValues(batch));
    for (const { webhookId } of rows) this.wakeWebhook(webhookId);
  }

  /** Asks for a wake-up of the relay for this webhook, once the transaction has committed. */
  wakeWebhook(id: WebhookId): void {
    this.#wokenWebhooks.add(id);
  }
}

export interface Transactions {
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. The relay is woken
   * after the commit, never inside.
   *
   * @throws StoreUnavailableError when Postgres cannot be reached; whether it had committed is then unknown.
   */
  run<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

/** Waiting for a connection, and the whole of a transaction. */
const MAX_WAIT_MS = 5_000;
const TRANSACTION_TIMEOUT_MS = 15_000;

export function createTransactions(prisma: PrismaClient, wakeUps: WakeUps): Transactions {
  return {
    async run(work) {
      const { result, wokenWebhooks } = await mappingUnavailable(() =>
        prisma.$transaction((client) => Transaction.during(client, work), {
          maxWait: MAX_WAIT_MS,
          timeout: TRANSACTION_TIMEOUT_MS,
        }),
      );
      if (wokenWebhooks.length > 0) wakeUps.send({ webhooks: wokenWebhooks, mail: false });
      return result;
    },
  };
}
