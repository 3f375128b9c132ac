import { fetchMetrics } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';

/*
 * Shows names that cannot exist (`.invalid`, RFC 2606), a name that is too long, and many at once. A worker
 * asks the machine's own name servers, and an experiment cannot replace them. Tests of name servers that lie,
 * loop, are silent or change their answer are in packages/outbound/src/resolve and transport.test.ts.
 */
const NAMES = 60;
const EVENTS = 3;
/** The product's default. Without a name server, a lookup takes 3 to 5 s: more than the harness allows. */
const DEFAULT_TIMEOUT = { DELIVERY_TIMEOUT_MS: '10000' };
/** A DNS label has at most 63 bytes, so this name cannot be looked up. */
const NEVER_A_NAME = [`${'x'.repeat(64)}.invalid`];

export const namesThatDoNotResolve: Experiment = {
  number: 29,
  title: 'names that do not resolve, by the dozen',
  shows:
    'each is a failed attempt, tried again, whose error names the name; a healthy endpoint is served meanwhile',
  runs: 'ci',
  leaseSeconds: 20,
  async run(world) {
    const healthyAccount = await world.newAccount();
    const healthy = await world.endpoint({ accountId: healthyAccount });
    const names = [
      ...Array.from({ length: world.scaled(NAMES) }, (_, index) => `hooks-${world.seed}-${index}.invalid`),
      ...NEVER_A_NAME,
    ];
    for (const name of names) await world.endpoint({ url: `https://${name}/`, mayGiveUp: true });
    await world.start('relay', { env: DEFAULT_TIMEOUT });
    const worker = await world.start('worker', { env: DEFAULT_TIMEOUT });
    await world.producer.record(world.scaled(EVENTS));
    await world.until('a first name to have failed', async () => (await world.count('attempts')) > 0);
    // One after another: each has arrived before the next is made.
    for (let event = 1; (await world.outstandingOf(world.accountId)) > 0; event += 1) {
      await world.producer.record(1, { accountId: healthyAccount });
      await healthy.arrived(event);
    }
    world.note(`event loop of the worker, p99: ${await loopDelayMs(worker)} ms`);
    const failed = await world.query<{ error: string | null; status: number | null; endpoint: string }>(
      `select a.error, a.status, w.endpoint from attempts a join webhooks w on w.id = a.webhook_id
       where w.account_id = $1`,
      [world.accountId],
    );
    const odd = failed.filter(({ error, status, endpoint }) => {
      const { hostname } = new URL(endpoint);
      // The rest of the error may differ: only a name server can tell that a name does not exist.
      return status !== null || !(error ?? '').startsWith('DNS: ') || !error?.includes(hostname.slice(0, 60));
    });
    world.claim(
      'every attempt failed by its name',
      odd.length === 0,
      odd[0]?.error ?? `${failed.length} attempts`,
    );
    await exhausted(world, names.length * world.scaled(EVENTS));
    const served = healthy.receipts.length;
    world.claim('a healthy endpoint was served all the while', served > 1, `${served} requests`);
  },
};

/** A name that does not resolve is no refusal: it has all its attempts. */
async function exhausted(world: World, wanted: number): Promise<void> {
  const letters = await world.query<{ reason: string; n: number }>(
    'select reason, count(*)::int as n from dead_letters where attempts = 8 group by 1',
  );
  const saw = letters.map(({ reason, n }) => `${n} ${reason}`).join(', ');
  world.claim('each became a dead letter after 8 attempts', saw === `${wanted} attempts_exhausted`, saw);
}

async function loopDelayMs(process: SystemProcess): Promise<string> {
  const page = await fetchMetrics(await process.port());
  return (page.read('nodejs_eventloop_lag_p99_seconds') * 1000).toFixed(1);
}
