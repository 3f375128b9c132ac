import { keyOf } from './history.ts';
import type {
  DeliveryKey,
  FaultEntry,
  History,
  Receipt,
  StoredAttempt,
  StoredDeadLetter,
  WebhookEntry,
} from './history.ts';

/** The history by delivery. Receipts and attempts are in the order of time. */
export interface HistoryIndex {
  readonly receipts: ReadonlyMap<DeliveryKey, readonly Receipt[]>;
  readonly attempts: ReadonlyMap<DeliveryKey, readonly StoredAttempt[]>;
  readonly deadLetters: ReadonlyMap<DeliveryKey, StoredDeadLetter>;
  readonly webhooks: ReadonlyMap<string, WebhookEntry>;
  readonly replays: ReadonlyMap<DeliveryKey, readonly DeliveryKey[]>;
  /** The faults that excuse one further attempt each. */
  readonly excuses: ReadonlyMap<DeliveryKey, readonly FaultEntry[]>;
  /** Those that stepped the clock of Postgres forwards. */
  readonly clockSteps: readonly FaultEntry[];
}

export function indexHistory(history: History): HistoryIndex {
  const byArrival = [...history.receipts].sort((a, b) => a.arrivedAtMs - b.arrivedAtMs);
  const byStart = [...history.store.attempts].sort((a, b) => a.startedAtMs - b.startedAtMs);
  const excuses = history.faults
    .filter((fault) => fault.mayRepeat)
    .flatMap((fault) => fault.inFlight.map((key) => ({ key, fault })));
  return {
    receipts: Map.groupBy(byArrival, keyOf),
    attempts: Map.groupBy(byStart, keyOf),
    deadLetters: new Map(history.store.deadLetters.map((letter) => [keyOf(letter), letter])),
    webhooks: new Map(history.webhooks.map((webhook) => [webhook.webhookId, webhook])),
    replays: Map.groupBy(history.replays, (key) => key),
    excuses: new Map(
      [...Map.groupBy(excuses, ({ key }) => key)].map(([key, entries]) => [
        key,
        entries.map(({ fault }) => fault),
      ]),
    ),
    clockSteps: history.faults.filter(({ clockStepMs = 0 }) => clockStepMs > 0),
  };
}

/** True: the webhook was deleted. Then its attempts in flight are not recorded. */
export function isRemoved(key: DeliveryKey, index: HistoryIndex): boolean {
  return index.webhooks.get(webhookIdOf(key))?.removed != null;
}

export function webhookIdOf(key: DeliveryKey): string {
  return key.split(' ')[1] ?? '';
}

export function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status <= 299;
}
