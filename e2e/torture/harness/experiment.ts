import type { PostgresWish } from './servers/postgres.ts';
import type { World } from './world/world.ts';

/** One fault, or one kind of faults, under load. Its file says what it does; the checker says whether it held. */
export interface Experiment {
  /** Of the list of experiments; also its place in the result page. */
  readonly number: number;
  readonly title: string;
  /** What must be so in the end, for the result page. */
  readonly shows: string;
  /** `ci`: in every run. `long`: only with `--long`. */
  readonly runs: 'ci' | 'long';
  /** For `run` (240: many times what it takes on a quiet machine). The rest to come after it has 90 s of its own. */
  readonly deadlineSeconds?: number;
  /**
   * A Postgres of its own, which it may kill, with what it wishes for. Otherwise it has a database on the one that all
   * share.
   */
  readonly ownPostgres?: boolean | PostgresWish;
  /** Why this machine cannot carry it out, or null: it is skipped then, and the reason told. */
  readonly lacks?: () => string | null;
  /**
   * So far off may signatures be: the clock of a worker is off, or it is frozen when it has signed and has not sent. They
   * are judged with that much patience.
   */
  readonly signatureOffMs?: number;
  /** In place of the harness's own, for everything in the world. */
  readonly leaseSeconds?: number;
  /** Where the queue is (`redis`). With `postgres` there is no Redis in the world. */
  readonly queue?: 'redis' | 'postgres';
  /**
   * Builds what it needs, does harm, heals it, and returns when there is nothing more to do: it need not wait until
   * the deliveries have ended. @throws when something did not happen that the experiment depends on.
   */
  run(world: World): Promise<void>;
}
