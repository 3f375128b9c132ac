/** How long a migration may wait, and keep others waiting. */
export interface MigrateLimits {
  /** For the lock that lets one migrator run. Another may be building an index. */
  readonly migrationLockMs: number;
  /** For a lock on a table. All statements on that table queue behind a migration that waits. */
  readonly tableLockMs: number;
  /** For `… index concurrently`, which waits for older transactions, and keeps nobody waiting. */
  readonly concurrentLockMs: number;
  /** At a lock that is not had in time. */
  readonly tries: number;
  /** Between two tries: the statements that queued get done. */
  readonly pauseMs: number;
  /** The same three for `-- busy table`. A statement has `tableLockMs` in all, for locks and work. */
  readonly busyTable: Pick<MigrateLimits, 'tableLockMs' | 'tries' | 'pauseMs'>;
}

export const MIGRATE_LIMITS: MigrateLimits = {
  migrationLockMs: 10 * 60_000,
  tableLockMs: 5_000,
  concurrentLockMs: 10 * 60_000,
  tries: 10,
  pauseMs: 5_000,
  // An outcome may take 300 ms. Readers of up to 100 s are outwaited, as with the limits above.
  busyTable: { tableLockMs: 250, tries: 80, pauseMs: 1_000 },
};

/** Where a migration is told about while it runs: a line for the operator. */
export type Say = (line: string) => void;
