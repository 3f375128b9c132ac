/** How long a migration may wait, and block other statements. */
export interface MigrateLimits {
  /** For the lock that allows one migrator at a time. Another migrator may be building an index. */
  readonly migrationLockMs: number;
  /** For a lock on a table. All statements on that table queue behind a migration that waits for the lock. */
  readonly tableLockMs: number;
  /** For `… index concurrently`, which waits for older transactions and blocks no statement. */
  readonly concurrentLockMs: number;
  /** Tries for a lock that is not available in time. */
  readonly tries: number;
  /** Pause between two tries. The queued statements run meanwhile. */
  readonly pauseMs: number;
  /**
   * For migrations with the comment `-- busy table`. `tableLockMs` limits a whole statement: locks and
   * work.
   */
  readonly busyTable: Pick<MigrateLimits, 'tableLockMs' | 'tries' | 'pauseMs'>;
}

export const MIGRATE_LIMITS: MigrateLimits = {
  migrationLockMs: 10 * 60_000,
  tableLockMs: 5_000,
  concurrentLockMs: 10 * 60_000,
  tries: 10,
  pauseMs: 5_000,
  // No try delays the recording of an outcome by over 300 ms. A reader may hold the table for some 100 s.
  busyTable: { tableLockMs: 250, tries: 80, pauseMs: 1_000 },
};

/** Processes that migrate at start wait for each other for a short time. The operator need not know that. */
const SAY_AFTER_MS = 2_000;

/** The time after which the migrator says what it does, if that may take `limitMs`. */
export const sayAfterMs = (limitMs: number): number => Math.min(SAY_AFTER_MS, limitMs / 2);

/** Writes a line for the operator while migrations run. */
export type Say = (line: string) => void;
