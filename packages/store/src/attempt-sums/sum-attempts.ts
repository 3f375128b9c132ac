import type { Pool, PoolClient } from 'pg';
import { inBoundedStep } from '../db/bounded-step.ts';
import { queryOn } from '../db/database.ts';
import {
  BEGIN_PASS,
  CONTINUE_PASS,
  END_PASS,
  LOCK_PROGRESS,
  MAKE_PROGRESS,
  SUM_ATTEMPTS,
  WEBHOOKS_PER_STEP,
  WRITERS,
} from './sql/sum-attempts.ts';

/**
 * A worker tries to record an attempt until the lease ends. Its last try may wait 15 s for locks. The other
 * 285 s allow for a worker process that stood still.
 */
const SETTLES_AFTER_LEASE_SECONDS = 300;

/** `summed`: there may be more to do. `current`: every minute that has ended is added up. */
export type SumStep = 'summed' | 'current';

/** Where the sums end, and where a pass under way goes. */
interface Progress {
  readonly settledUntil: Date;
  readonly summedUntil: Date;
  /** Null: no pass is under way. */
  readonly nextSettledUntil: Date | null;
  readonly nextSummedUntil: Date | null;
  readonly lastWebhookId: string | null;
}

interface Pass extends Progress {
  readonly nextSettledUntil: Date;
  readonly nextSummedUntil: Date;
  readonly lastWebhookId: string;
}

/** The end of a minute that is old enough to be settled, and the transactions that may still add to it. */
interface Mark {
  readonly until: Date;
  readonly ids: readonly string[];
}

export type AttemptSums = ReturnType<typeof createAttemptSums>;

/**
 * Adds up the attempt log per webhook, by minute and by hour, in bounded steps. Any number of relays may run
 * it: the row of `attempt_sums` is locked during a step, and says where the next one goes on.
 *
 * Each minute is counted twice. It is counted soon after its end, for people who watch. It is counted again
 * when it is settled: no attempt that began in it can still commit. That count is final.
 *
 * @param leaseSeconds how long a worker may try to record an attempt.
 */
export function createAttemptSums(pool: Pool, { leaseSeconds }: { readonly leaseSeconds: number }) {
  const settlesAfterSeconds = leaseSeconds + SETTLES_AFTER_LEASE_SECONDS;
  /** The mark of an earlier step. In memory: after a restart the first minute settles one step later. */
  let mark: Mark | null = null;

  /**
   * Returns the end of the last settled minute, if it is known: every transaction of the earlier mark has
   * ended.
   */
  async function findSettled(): Promise<Date | null> {
    const { rows } = await queryOn<Mark>(pool, WRITERS, [settlesAfterSeconds]);
    const next = rows[0] ?? null;
    const isOpen = mark?.ids.some((id) => next?.ids.includes(id)) ?? false;
    if (isOpen) return null;
    const settled = mark?.until ?? null;
    mark = next;
    return settled;
  }

  return {
    /** Runs one step. A step of another relay that runs now counts as `current`. */
    async step(): Promise<SumStep> {
      const settled = await findSettled();
      return inBoundedStep(pool, async (client) => {
        const progress = await lockProgress(client);
        if (progress === null) return 'current';
        const pass = isPass(progress) ? progress : await beginPass(client, settled);
        if (pass === null) return 'current';
        await sumNext(client, pass);
        return 'summed';
      });
    },
  };
}

async function lockProgress(client: PoolClient): Promise<Progress | null> {
  const { rows } = await client.query<Progress>(LOCK_PROGRESS);
  if (rows[0] !== undefined) return rows[0];
  await client.query(MAKE_PROGRESS); // does nothing while another relay holds the row
  return (await client.query<Progress>(LOCK_PROGRESS)).rows[0] ?? null;
}

function isPass(progress: Progress): progress is Pass {
  return progress.lastWebhookId !== null;
}

async function beginPass(client: PoolClient, settled: Date | null): Promise<Pass | null> {
  const { rows } = await client.query<Pass>(BEGIN_PASS, [settled]);
  return rows[0] ?? null;
}

async function sumNext(client: PoolClient, pass: Pass): Promise<void> {
  const spans = spansOf(pass);
  const { rows } = await client.query<{ last: string | null; webhooks: number }>(SUM_ATTEMPTS, [
    pass.lastWebhookId,
    spans.map(({ since }) => since),
    spans.map(({ until }) => until),
    pass.settledUntil,
    pass.nextSummedUntil,
  ]);
  const [page] = rows;
  if (page?.webhooks === WEBHOOKS_PER_STEP) await client.query(CONTINUE_PASS, [page.last]);
  else await client.query(END_PASS);
}

/** The minutes that are settled now, and those that ended since the last pass. */
function spansOf(pass: Pass): { since: Date; until: Date }[] {
  const { settledUntil, nextSettledUntil, summedUntil, nextSummedUntil } = pass;
  const fresh = new Date(Math.max(summedUntil.getTime(), nextSettledUntil.getTime()));
  return [
    { since: settledUntil, until: nextSettledUntil },
    { since: fresh, until: nextSummedUntil },
  ].filter(({ since, until }) => since < until);
}
