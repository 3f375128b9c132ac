import type { PostgresWish } from './servers/postgres.ts';
import type { World } from './world/world.ts';

/** One kind of fault under load. The checker judges whether the invariants held. */
export interface Experiment {
  /** Its number in the list, and its position on the result page. */
  readonly number: number;
  readonly title: string;
  /** The result that it must show, for the result page. */
  readonly shows: string;
  /** `ci`: in every run. `long`: only with `--long`. */
  readonly runs: 'ci' | 'long';
  /** The time limit of `run`. Default: 240, many times the need of a quiet machine. */
  readonly deadlineSeconds?: number;
  /**
   * True, or the extra parts: it has its own Postgres, which it may kill. Default: a database on the shared
   * server.
   */
  readonly ownPostgres?: boolean | PostgresWish;
  /** Returns the reason why this machine cannot run it, or null. It is then skipped. */
  readonly lacks?: () => string | null;
  /**
   * Added to the tolerance for signatures, when a worker's clock is off, or a worker is frozen between
   * signing and sending.
   */
  readonly signatureOffMs?: number;
  /** Replaces the harness's own lease. */
  readonly leaseSeconds?: number;
  /** The place of the queue. Default: `redis`. With `postgres` the world has no Redis. */
  readonly queue?: 'redis' | 'postgres';
  /**
   * Causes faults and heals them. It need not wait until the deliveries have ended.
   *
   * @throws when something does not happen that the experiment needs
   */
  run(world: World): Promise<void>;
}
