import type { WebhookId } from '@postrider/domain';
import { median, slopeOf } from '@postrider/testing';
import { createApiTraffic } from '../load/api-traffic.ts';
import { installWithEndpoint } from '../load/one-endpoint.ts';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { requireProcessFigures, residentBytesOf } from '../fixture/process-figures.ts';
import { checkOf, judging, valueOf } from '../result/result.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';

const NAMES = ['api', 'relay', 'worker'] as const;
type Name = (typeof NAMES)[number];
const SAMPLE_EVERY_MS = 250;
const MIB = 1024 * 1024;
/** The number of portions. Queueing in portions keeps the backlog constant. */
const PORTIONS = 50;
/**
 * A run takes one to three minutes. Garbage between collections makes the growth of one run uncertain by 3 %.
 */
const RUNS_MAX = 3;
/**
 * Requests per second to the API. Its heap then has a full collection every 5 s; fewer would give too few
 * waves.
 */
const REQUESTS_PER_SECOND = 250;
/** Allowed growth of resident memory over the second half. Less is noise of the garbage collector. */
const GROWTH_PERCENT_MAX = 2;

/** The resident bytes per process after a number of deliveries. */
interface Sample {
  readonly deliveries: number;
  readonly bytes: Readonly<Record<Name, number>>;
}

interface Run {
  readonly samples: readonly Sample[];
  readonly api: { readonly answered: number; readonly refused: number };
}

export const processMemory: Figure = {
  id: 'process-memory',
  title: 'Memory of api, relay and worker over many deliveries',
  group: 'load',
  how:
    'Api, relay and worker are started and run while events are queued portion by portion; the api answers ' +
    `${REQUESTS_PER_SECOND} requests a second meanwhile. Resident memory is read from /proc four times a second. ` +
    'Compared are the medians around a tenth of the deliveries (± a tenth of that) and over their last tenth. The slope ' +
    'over the second half is the median of the slopes between all pairs of samples (Theil–Sen); up to ' +
    `${GROWTH_PERCENT_MAX} % of the memory counts as none. ${RUNS_MAX} runs, for the time they take; the plot is of the first.`,
  limitSeconds: 600,
  async run(fixture) {
    requireProcessFigures();
    const prepared = await installWithEndpoint(fixture);
    const measure = () => runOnce(fixture, prepared);
    const describe = ({ api }: Run): string => `the api answered ${api.answered} requests`;
    return measurement(
      await measureRounds(fixture, measure, describe, RUNS_MAX),
      fixture.sizes.memoryDeliveries,
    );
  },
};

interface Prepared {
  readonly installation: Installation;
  readonly receiver: RoleProcess<ReceiverCommands>;
  readonly webhooks: readonly WebhookId[];
}

async function runOnce(fixture: Fixture, prepared: Prepared): Promise<Run> {
  const { installation, receiver } = prepared;
  await receiver.call('reset', null);
  for (const name of NAMES) await installation.start(name);
  const traffic = await createApiTraffic(installation, { perSecond: REQUESTS_PER_SECOND });
  const samples: Sample[] = [];
  const sampling = setInterval(() => {
    void sample(installation, receiver).then((one) => samples.push(one), traffic.fail);
  }, SAMPLE_EVERY_MS);
  try {
    await Promise.race([feed(fixture, prepared), traffic.failed]);
  } finally {
    clearInterval(sampling);
    await traffic.stop();
  }
  await installation.drained(prepared.webhooks);
  await installation.stopAll('gently');
  return { samples, api: traffic.answers };
}

/** Keeps two portions in the table: one that is drained, and one more. */
async function feed(fixture: Fixture, { installation, receiver, webhooks }: Prepared): Promise<void> {
  const portion = fixture.sizes.memoryDeliveries / PORTIONS;
  await installation.queue(webhooks, portion);
  for (let queued = 1; queued <= PORTIONS; queued += 1) {
    if (queued < PORTIONS) await installation.queue(webhooks, portion);
    await receiver.call('reached', { count: queued * portion, withinMs: 60_000 });
  }
}

async function sample({ processes }: Installation, receiver: RoleProcess<ReceiverCommands>): Promise<Sample> {
  const { events } = await receiver.call('counts', null);
  const bytes = Object.fromEntries(processes.map(({ name, pid }) => [name, residentBytesOf(pid)]));
  return { deliveries: events, bytes: bytes as Sample['bytes'] };
}

function measurement(runs: readonly Run[], count: number): Outcome {
  const { value } = judging(runs);
  const within = (from: number, to: number, name: Name) =>
    runs.map(({ samples }) => {
      const [first, ...others] = samples.filter(({ deliveries }) => deliveries >= from * count);
      return [
        ...(first === undefined ? [] : [first]), // the only one, when a quick run has none up to `to`
        ...others.filter(({ deliveries }) => deliveries <= to * count),
      ].map(({ deliveries, bytes }) => [deliveries, bytes[name]] as const);
    });
  const bytesWithin = (from: number, to: number, name: Name) =>
    within(from, to, name).map((points) => median(points.map(([, bytes]) => bytes)));
  const early = (name: Name) => bytesWithin(0.09, 0.11, name);
  const late = (name: Name) => bytesWithin(0.9, 1, name);
  return {
    checks: NAMES.flatMap((name) => [
      checkOf(
        `${name}: memory after all, against a tenth of the deliveries`,
        '×',
        late(name).map((bytes, run) => bytes / (early(name)[run] ?? Number.NaN)),
        { atMost: 1.25 },
      ),
      checkOf(
        `${name}: growth over the second half`,
        '%',
        within(0.5, 1, name).map((points) => growthPercent(points, count / 2)),
        { atMost: GROWTH_PERCENT_MAX },
      ),
    ]),
    values: [
      ...NAMES.flatMap((name) => [
        valueOf(`${name}: resident memory after a tenth`, 'MiB', early(name).map(mib)),
        valueOf(`${name}: resident memory after all`, 'MiB', late(name).map(mib)),
      ]),
      value('api: requests answered meanwhile', '', ({ api }) => api.answered),
      value('api: of them refused with 429, its limiter being late', '', ({ api }) => api.refused),
    ],
    plots: [
      {
        kind: 'lines',
        logarithmic: false,
        id: 'process-memory',
        title: 'Resident memory',
        xLabel: 'deliveries',
        yLabel: 'MiB',
        series: NAMES.map((name) => ({
          name,
          points: (runs[0]?.samples ?? []).map(
            ({ deliveries, bytes }) => [deliveries, mib(bytes[name])] as [number, number],
          ),
        })),
      },
    ],
  };
}

function growthPercent(points: readonly (readonly [number, number])[], over: number): number {
  return ((slopeOf(points) * over) / median(points.map(([, bytes]) => bytes))) * 100;
}

function mib(bytes: number): number {
  return Math.round((bytes / MIB) * 10) / 10;
}
