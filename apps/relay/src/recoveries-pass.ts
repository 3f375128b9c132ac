import { LIMITS } from '@postrider/domain';
import type { AccountId, RecoveryId, WebhookId } from '@postrider/domain';
import type { Logger } from '@postrider/runtime';
import type { RecoveryWork } from '@postrider/store';

export interface RecoveriesPassParts {
  readonly work: RecoveryWork;
  /** Counts the account's deliveries that are neither done nor given up; an estimate in a large table. */
  readonly outstandingOf: (accountId: AccountId) => Promise<number>;
  readonly outstandingMax: number;
  /** Receives the webhooks that got deliveries. */
  readonly onDeliveriesMade: (webhookId: WebhookId) => void;
  readonly logger: Pick<Logger, 'info'>;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

const STEPS_PER_RUN = 50;
/** A recovery that starts during this pause waits until the pause ends. */
const IDLE_PAUSE_MS = 2_000;
const BUSY_PAUSE_MS = 10;
const RECOUNT_MS = 10_000;
/** All recoveries of an account together have the highest rate of one recovery. */
const EVENTS_PER_MS = LIMITS.recoveryRateMax / 1_000;
/** The burst: at once, an account may queue what the highest rate gives in this time. */
const BURST_MS = 250;

interface AccountPace {
  /** When `outstanding` was counted. */
  readonly atMs: number;
  readonly outstanding: number;
  /** Events that recoveries have queued since. */
  queued: number;
  /** At the highest rate, queueing the events so far takes until this time. */
  pacedUntilMs: number;
}

/** Does the steps of recoveries that are due. Two relays that are active for some seconds share the steps. */
export class RecoveriesPass {
  readonly #parts: RecoveriesPassParts;
  readonly #nowMs: () => number;
  /** Kept while recoveries run. An account's deliveries are counted again after `RECOUNT_MS`. */
  readonly #paces = new Map<AccountId, AccountPace>();

  constructor(parts: RecoveriesPassParts) {
    this.#parts = parts;
    this.#nowMs = parts.nowMs ?? (() => performance.now());
  }

  /**
   * Runs once. A step or a count that fails does not stop the other recoveries. Its recovery is put off, so
   * the account's other recoveries come first. @returns the pause before the next run, in milliseconds.
   */
  async run(): Promise<number> {
    const recoveries = await this.#parts.work.next(STEPS_PER_RUN);
    if (recoveries.length === 0) this.#paces.clear();
    const due = recoveries.filter(({ dueInMs }) => dueInMs === 0);
    const faults: unknown[] = [];
    for (const { id, accountId } of due) {
      try {
        await this.#step(id, await this.#paceOf(accountId));
      } catch (error) {
        faults.push(error);
        // If this fails, too, the step is due at once.
        await this.#parts.work.putOff(id).catch(() => undefined);
      }
    }
    if (faults.length > 0) throw faults[0];
    if (due.length > 0) return BUSY_PAUSE_MS;
    return Math.min(IDLE_PAUSE_MS, ...recoveries.map(({ dueInMs }) => dueInMs));
  }

  async #step(id: RecoveryId, pace: AccountPace): Promise<void> {
    const { work, onDeliveriesMade, logger } = this.#parts;
    const step = await work.step(id, this.#eventsMax(pace));
    if (step === null) return; // another relay does it, or it is not due
    const { webhookId, queued, ended } = step;
    pace.queued += queued;
    pace.pacedUntilMs = Math.max(pace.pacedUntilMs, this.#nowMs()) + queued / EVENTS_PER_MS;
    if (queued > 0) onDeliveriesMade(webhookId);
    if (ended !== null) logger.info(`recovery ${ended}`, { recovery_id: id, webhook_id: webhookId });
  }

  #eventsMax({ outstanding, queued, pacedUntilMs }: AccountPace): number {
    const aheadMs = Math.max(0, pacedUntilMs - this.#nowMs());
    const maxByRate = Math.floor((BURST_MS - aheadMs) * EVENTS_PER_MS);
    return Math.max(0, Math.min(maxByRate, this.#parts.outstandingMax - outstanding - queued));
  }

  async #paceOf(accountId: AccountId): Promise<AccountPace> {
    const known = this.#paces.get(accountId);
    const nowMs = this.#nowMs();
    if (known !== undefined && known.atMs + RECOUNT_MS > nowMs) return known;
    const outstanding = await this.#parts.outstandingOf(accountId);
    const pacedUntilMs = known?.pacedUntilMs ?? -Infinity;
    const pace = { atMs: nowMs, outstanding, queued: 0, pacedUntilMs };
    this.#paces.set(accountId, pace);
    return pace;
  }
}
