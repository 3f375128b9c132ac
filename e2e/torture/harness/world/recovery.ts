import { nowMs } from '../times.ts';
import type { OpenStore } from '../../../open-store.ts';

/**
 * Measures how long the system takes, after the last fault has healed, to attempt everything that was due by then.
 */
export interface RecoveryWatch {
  /** A fault has healed now: measure from here. A measurement that is not complete is void. */
  healed(): void;
  /** Looks now, and not only when it is time to. */
  look(): Promise<void>;
  /** The longest that was measured; null while the last one is not complete. */
  readonly recoveryMs: number | null;
  stop(): void;
}

const LOOK_EVERY_MS = 100;
/** An attempted delivery is gone, or due later. A message that was handed over likewise. */
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
