import type { WebhookId } from '@postrider/domain';
import { announcedSlots } from '@postrider/runtime';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { median } from '@postrider/testing';
import { watchCores } from '../load/core-use.ts';
import { checkOf, valueOf } from '../result/result.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';

/** Slots of each lane in each worker. */
const SLOTS = 4;
/** For each worker, the relay lets the only account have this many in flight. They leave a core half idle. */
const IN_FLIGHT = announcedSlots({ deliveryConcurrency: SLOTS, slowLaneConcurrency: SLOTS });
const ENDPOINT_TAKES_SECONDS = 0.05;
/** The rate of one worker if only the endpoints took time. */
const CEILING_PER_SECOND = IN_FLIGHT / ENDPOINT_TAKES_SECONDS;
/** Above this busy share no core is left for another worker. */
const CORES_FULL = 0.9;
const WARM_UP_EVENTS_PER_WEBHOOK = 4;
/** The relay learns with the second event that the endpoints answer. Then all events use the fast lane. */
const WARM_UP_BURSTS = 2;

export const scaling: Figure = {
  id: 'scaling',
  title: 'More workers',
  group: 'load',
  how:
    `Workers for which the relay lets one account have ${IN_FLIGHT} deliveries in flight each, to endpoints on hosts of ` +
    `their own that take ${ENDPOINT_TAKES_SECONDS * 1000} ms. One relay. Within a round workers are added one after the other; the rate is ` +
    'that of the arrivals between the first and the last tenth of a burst. The share is that of the rate of one worker, ' +
    'in the same round, times the number of workers. A claim may give each webhook one delivery more than the limit leaves, so ' +
    'the rate of one worker is a little above what the limit allows, and the shares are lower by that. Where the cores were busy to 90 % and more there is nothing to ' +
    'scale with: such a step is shown and not judged.',
  limitSeconds: 360,
  async run(fixture) {
    const { process: receiver, origins } = await fixture.receiver();
    const installation = await fixture.install();
    const endpoints = Array.from(
      { length: fixture.sizes.scalingEndpoints },
      (_, index) => `${origins[index % origins.length] ?? ''}/after-${ENDPOINT_TAKES_SECONDS * 1000}-ms`,
    );
    const webhooks = await installation.addWebhooks(await installation.addAccount(), endpoints);
    const measure = () => oneRound(fixture, { installation, receiver, webhooks });
    return measurement(fixture.sizes.scalingWorkers, await measureRounds(fixture, measure, describe));
  },
};

interface Prepared {
  readonly installation: Installation;
  readonly receiver: RoleProcess<ReceiverCommands>;
  readonly webhooks: readonly WebhookId[];
}

interface Step {
  readonly workers: number;
  readonly perSecond: number;
  readonly coresBusy: number;
}

async function oneRound({ sizes }: Pick<Fixture, 'sizes'>, prepared: Prepared): Promise<Step[]> {
  const env = { DELIVERY_CONCURRENCY: String(SLOTS), SLOW_LANE_CONCURRENCY: String(SLOTS) };
  await prepared.installation.start('relay', env);
  const steps: Step[] = [];
  let running = 0;
  for (const workers of sizes.scalingWorkers) {
    for (; running < workers; running += 1) await prepared.installation.start('worker', env);
    const warmUpEvents = WARM_UP_EVENTS_PER_WEBHOOK * prepared.webhooks.length;
    for (let n = 0; n < WARM_UP_BURSTS; n += 1) await burst(prepared, warmUpEvents);
    const count = Math.round(sizes.scalingSeconds * workers * CEILING_PER_SECOND);
    steps.push({ workers, ...(await burst(prepared, count)) });
  }
  await prepared.installation.stopAll('gently');
  return steps;
}

async function burst(
  { installation, receiver, webhooks }: Prepared,
  count: number,
): Promise<{ perSecond: number; coresBusy: number }> {
  await receiver.call('reset', null);
  const coresBusy = watchCores();
  await installation.queue(webhooks, count);
  await receiver.call('reached', { count, withinMs: 120_000 });
  const busy = coresBusy();
  await installation.drained(webhooks);
  const times = (await receiver.call('arrivals', null)).map(([, atMs]) => atMs).sort((a, b) => a - b);
  const [from, to] = [Math.floor(times.length * 0.1), Math.floor(times.length * 0.9)];
  const tookMs = (times[to] ?? Number.NaN) - (times[from] ?? Number.NaN);
  return { perSecond: ((to - from) / tookMs) * 1000, coresBusy: busy };
}

function measurement(workerCounts: readonly number[], rounds: readonly (readonly Step[])[]): Outcome {
  const [fewest = 1, ...several] = workerCounts;
  const stepsOf = (workers: number) =>
    rounds.map((steps) => ({ step: stepWith(steps, workers), first: stepWith(steps, fewest) }));
  const shares = (workers: number): number[] =>
    stepsOf(workers).map(
      ({ step, first }) => (step.perSecond * first.workers) / (first.perSecond * step.workers),
    );
  const busy = (workers: number): number[] => stepsOf(workers).map(({ step }) => step.coresBusy);
  const rates = (workers: number): number[] => stepsOf(workers).map(({ step }) => step.perSecond);
  const isFull = (workers: number): boolean => median(busy(workers)) >= CORES_FULL;
  if (several.every(isFull)) {
    throw new Error(`the cores were full with ${several[0] ?? 0} workers already: nothing to scale with`);
  }
  const fewestRate = median(rates(fewest));
  return {
    checks: several
      .filter((workers) => !isFull(workers))
      .map((workers) =>
        checkOf(`${workers} workers, share of linear`, '×', shares(workers), { atLeast: 0.9 }),
      ),
    values: [
      ...several
        .filter(isFull)
        .map((workers) => valueOf(`${workers} workers, share of linear (cores full)`, '×', shares(workers))),
      ...workerCounts.map((workers) => valueOf(`${workers} workers: deliveries`, '/s', rates(workers))),
      ...workerCounts.map((workers) =>
        valueOf(
          `${workers} workers: cores busy`,
          '%',
          busy(workers).map((share) => share * 100),
        ),
      ),
    ],
    plots: [
      {
        kind: 'lines',
        logarithmic: false,
        id: 'scaling',
        title: `Deliveries per second by number of workers (${IN_FLIGHT} in flight each)`,
        xLabel: 'workers',
        yLabel: 'deliveries per second',
        series: [
          { name: 'measured (median)', points: workerCounts.map((n) => [n, median(rates(n))]) },
          { name: 'linear', points: workerCounts.map((n) => [n, (n * fewestRate) / fewest]) },
        ],
      },
    ],
  };
}

function stepWith(steps: readonly Step[], workers: number): Step {
  const step = steps.find((one) => one.workers === workers);
  if (step === undefined) throw new Error(`no step with ${workers} workers`);
  return step;
}

function describe(steps: readonly Step[]): string {
  return steps
    .map(
      (step) =>
        `${step.workers}: ${step.perSecond.toFixed(0)}/s (${(step.coresBusy * 100).toFixed(0)} % busy)`,
    )
    .join(', ');
}
