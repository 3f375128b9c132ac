import { within } from '@postrider/limits';
import { evictionFault, workersElsewhere } from '@postrider/queue';
import type { QueueDepth, QueueKey } from '@postrider/queue';
import { messageOf } from '@postrider/runtime';
import {
  countDeadLettersByHour,
  countFoundDeadLetters,
  countHeldMessages,
  createFleet,
  createRecoveryLookUps,
  lacksDays,
  LOAD_COUNTED_MAX,
  readAccountNames,
  readBusiestWebhooks,
  readFailingWebhooks,
  readiness,
  readLateWebhooks,
  readOutstanding,
  readUnsentMail,
  readWebhookHealth,
  relayIsActive,
} from '@postrider/store';
import type { Database, QueueIdentity } from '@postrider/store';
import { z } from 'zod';
import { readFields } from '../http/fields.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { DAY_MS, HOUR_MS } from '../html/words.ts';
import { isRunning } from '../pages/lanes.ts';
import type { Lanes } from '../pages/lanes.ts';
import { FIRST_ATTEMPT_SECONDS_MAX, overviewPage } from '../pages/overview.ts';

/** The queue of this console. The calls only read. Each rejects when the queue does not answer. */
export interface ConsoleQueue {
  /** The waiting jobs. */
  readonly depth: () => Promise<Readonly<Record<QueueKey, QueueDepth>>>;
  readonly identity: () => Promise<QueueIdentity>;
  /** Redis's `maxmemory-policy`. Null: not reported, or the queue is on Postgres. */
  readonly evictionPolicy: () => Promise<string | null>;
}

const FAILING_MAX = 20;
const RECOVERIES_MAX = 5;
/** Two show whether one webhook waits, or several. */
const LATE_MAX = 2;
const BUSIEST = { minutes: 1, limit: 5 };
const QUEUE_ANSWERS_WITHIN_MS = 2_000;

/** `/`, and `/?live=30`, which the browser reloads every 30 s. */
export function showOverview(db: Database, queue: ConsoleQueue): PageHandler {
  const fleet = createFleet(db.pool);
  const recoveries = createRecoveryLookUps(db);

  return async (visit) => {
    const { live } = readFields({ live: z.literal('30', { error: 'is not 30' }).optional() }, visit.query);
    const since = new Date(visit.now.getTime() - DAY_MS);
    const failing = await readFailingWebhooks(db.pool, FAILING_MAX + 1);
    const busiest = await readBusiestWebhooks(db.pool, BUSIEST);
    const running = await recoveries.running(RECOVERIES_MAX + 1);
    const ids = failing.map(({ webhookId }) => webhookId);
    const lanes = await lanesOf(queue);
    const workers = await fleet.known();
    const outstanding = await readOutstanding(db.pool);
    const isLate = outstanding.oldestFirstAttemptSeconds > FIRST_ATTEMPT_SECONDS_MAX;
    const parts = {
      readiness: await readiness(db.pool),
      relayIsActive: await relayIsActive(db.pool),
      lacksDays: await lacksDays(db.pool),
      lanes,
      elsewhere: lanes.identity === null ? null : workersElsewhere(lanes.identity, workers.filter(isRunning)),
      outstanding,
      late: isLate ? await readLateWebhooks(db.pool, FIRST_ATTEMPT_SECONDS_MAX, LATE_MAX) : [],
      unsent: await readUnsentMail(db),
      deadLetters: await countFoundDeadLetters(db, { since }),
      letterHours: await countDeadLettersByHour(db, hoursTo(visit.now)),
      held: await countHeldMessages(db),
      workers,
      failing: failing.slice(0, FAILING_MAX),
      hasMoreFailing: failing.length > FAILING_MAX,
      health: await readWebhookHealth(db, ids.slice(0, FAILING_MAX), LOAD_COUNTED_MAX),
      recoveries: running.slice(0, RECOVERIES_MAX),
      hasMoreRecoveries: running.length > RECOVERIES_MAX,
      busiest,
      names: await readAccountNames(
        db,
        [...failing, ...busiest.webhooks].map(({ accountId }) => accountId),
      ),
      isLive: live !== undefined,
    };
    const page = overviewPage(parts, visit);
    return live === undefined ? page : { ...page, refreshSeconds: 30 };
  };
}

/** The start of each of the last 24 hours. The last one is not over. */
function hoursTo(now: Date): Date[] {
  const lastMs = Math.floor(now.getTime() / HOUR_MS) * HOUR_MS;
  return Array.from({ length: 24 }, (_, n) => new Date(lastMs - (23 - n) * HOUR_MS));
}

async function lanesOf(queue: ConsoleQueue): Promise<Lanes> {
  const reads = [inTime(queue.depth), inTime(queue.identity), inTime(queue.evictionPolicy)] as const;
  const [depths, identity, policy] = await Promise.all(reads);
  const identityFault =
    identity.fault === null ? null : `The queue takes no writes, or its id is not known: ${identity.fault}`;
  return {
    depths: depths.value,
    identity: identity.value,
    fault: depths.fault ?? identityFault,
    evictionFault: evictionFault(policy.value),
  };
}

type Answer<T> =
  | { readonly value: T; readonly fault: null }
  | { readonly value: null; readonly fault: string };

async function inTime<T>(read: () => Promise<T>): Promise<Answer<T>> {
  try {
    return await within<Answer<T>>(
      async () => ({ value: await read(), fault: null }),
      QUEUE_ANSWERS_WITHIN_MS,
      () => ({ value: null, fault: 'The queue does not answer' }),
    );
  } catch (error) {
    return { value: null, fault: messageOf(error) };
  }
}
