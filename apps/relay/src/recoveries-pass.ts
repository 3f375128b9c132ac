import type { AccountId, RecoveryId, WebhookId } from '@postrider/domain';
import type { Logger } from '@postrider/runtime';
import type { RecoveryWork } from '@postrider/store';

export interface RecoveriesPassParts {
  readonly work: RecoveryWork;
  /** Counts the account's deliveries that are neither done nor given up; an estimate in a large table. */
  readonly outstandingOf: (accountId: AccountId) => Promise<number>;
  readonly outstandingMax: number;
  /** Receives the webhooks that got deliveries. */
  readonly onQueued: (webhookId: WebhookId) => void;
  readonly logger: Pick<Logger, 'info'>;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

const STEPS_PER_RUN = 50;
/** A recovery that was started meanwhile waits this long. */
const IDLE_PAUSE_MS = 2_000;
const BUSY_PAUSE_MS = 10;
/** A recovery queues 20,000 events in this time at most. */
const RECOUNT_MS = 10_000;

/** Does the steps of recoveries that are due. Two relays that are active for some seconds share the steps. */
export class RecoveriesPass {
  readonly #parts: RecoveriesPassParts;
  readonly #nowMs: () => number;
  /** Tells whether each account may have more deliveries, and until when the count holds. */
  readonly #counts = new Map<AccountId, { readonly mayQueue: boolean; readonly untilMs: number }>();

  constructor(parts: RecoveriesPassParts) {
    this.#parts = parts;
    this.#nowMs = parts.nowMs ?? (() => performance.now());
  }

  /**
   * Runs once. A step that fails does not stop the others. @returns the pause before the next run, in
   * milliseconds.
   */
  async run(): Promise<number> {
    this.#forgetOldCounts();
    const recoveries = await this.#parts.work.due(STEPS_PER_RUN);
    const due = recoveries.filter(({ waitMs }) => waitMs === 0);
    const faults: unknown[] = [];
    for (const { id, accountId } of due) {
      try {
        await this.#step(id, await this.#mayQueue(accountId));
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
    if (due.length > 0) return BUSY_PAUSE_MS;
    return Math.min(IDLE_PAUSE_MS, ...recoveries.map(({ waitMs }) => waitMs));
  }

  async #step(id: RecoveryId, mayQueue: boolean): Promise<void> {
    const { work, onQueued, logger } = this.#parts;
    const step = await work.step(id, mayQueue);
    if (step === null) return;
    const { webhookId, queued, ended } = step;
    if (queued > 0) onQueued(webhookId);
    if (ended !== null) logger.info(`recovery ${ended}`, { recovery_id: id, webhook_id: webhookId });
  }

  async #mayQueue(accountId: AccountId): Promise<boolean> {
    const known = this.#counts.get(accountId);
    if (known !== undefined) return known.mayQueue;
    const { outstandingOf, outstandingMax } = this.#parts;
    const mayQueue = (await outstandingOf(accountId)) < outstandingMax;
    this.#counts.set(accountId, { mayQueue, untilMs: this.#nowMs() + RECOUNT_MS });
    return mayQueue;
  }

  #forgetOldCounts(): void {
    const now = this.#nowMs();
    for (const [id, { untilMs }] of this.#counts) if (untilMs <= now) this.#counts.delete(id);
  }
}
