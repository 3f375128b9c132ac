import { Redis } from 'ioredis';
import type { WebhookId } from '@postrider/domain';
import type { Installation } from '../fixture/installation.ts';

/** V8 needs some thousands of deliveries to compile the hot code of new processes. */
const WARM_UP_BURST = 3_000;
const WARM_UP_SECONDS = 2;

/** Removes all rows, jobs and recorded health. No process may run. */
export async function emptyAll(installation: Installation): Promise<void> {
  await installation.database.query('truncate deliveries, events, attempts, dead_letters');
  await installation.database.query(
    'update webhooks set failing_since = null where failing_since is not null',
  );
  const redis = new Redis(installation.redis.url);
  await redis.flushall();
  redis.disconnect();
}

/** Like `emptyAll`, and starts one relay and one worker. */
export async function startAnew(installation: Installation): Promise<void> {
  await emptyAll(installation);
  await installation.start('relay');
  await installation.start('worker');
}

/** Sends a burst to endpoints that answer, then some seconds of the load that will be measured. */
export async function warmUp(
  installation: Installation,
  webhooks: readonly WebhookId[],
  load: (seconds: number) => Promise<unknown>,
): Promise<void> {
  await installation.queue(webhooks, WARM_UP_BURST);
  await installation.drained(webhooks);
  await load(WARM_UP_SECONDS);
}
