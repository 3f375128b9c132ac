import { nowMs } from '../times.ts';
import type { OpenStore } from '../../../open-store.ts';

/**
 * Measures the time from the last healing until all deliveries that were due by then are attempted.
 */
export interface RecoveryWatch {
  /** Starts a measurement: a fault has healed now. An incomplete measurement is dropped. */
  healed(): void;
  /** Looks now, and not at the next interval. */
  look(): Promise<void>;
  /** The longest measurement. Null while the last one is not complete. */
  readonly recoveryMs: number | null;
  stop(): void;
}

const LOOK_EVERY_MS = 100;
/** An attempted delivery is gone or due later. A message likewise. */
const STILL_DUE = `
  select (select count(*) from deliveries where due_at <= to_timestamp($1))
       + (select count(*) from email_sends where due_at <= to_timestamp($1)) as n`;

export function watchRecovery(store: Pick<OpenStore, 'query'>): RecoveryWatch {
  let healedAtMs = nowMs();
  let longestMs = 0;
  let recovered = false;
  let looking = false;

  async function look(): Promise<void> {
    const since = healedAtMs;
    const [row] = await store.query<{ n: string }>(STILL_DUE, [since / 1000]);
    if (row?.n !== '0' || since !== healedAtMs || recovered) return;
    recovered = true;
    longestMs = Math.max(longestMs, nowMs() - since);
  }

  const timer = setInterval(() => {
    if (looking || recovered) return;
    looking = true;
    look()
      .catch(() => undefined) // Postgres is away: not recovered yet
      .finally(() => (looking = false));
  }, LOOK_EVERY_MS);

  return {
    healed() {
      healedAtMs = nowMs();
      recovered = false;
    },
    look,
    get recoveryMs() {
      return recovered ? longestMs : null;
    },
    stop: () => clearInterval(timer),
  };
}
