import type { WebhookId } from '@postrider/domain';
import { createApiTraffic } from '../load/api-traffic.ts';
import type { Figure, Ground } from '../figure.ts';
import type { Installation } from '../ground/installation.ts';
import { requireProcessFigures, residentBytesOf } from '../ground/process-figures.ts';
import { checkOf, valueOf } from '../result/result.ts';
import type { Measurement } from '../result/result.ts';
import { median, slopeOf } from '../result/statistics.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';

const NAMES = ['api', 'relay', 'worker'] as const;
const SAMPLE_EVERY_MS = 250;
const MIB = 1024 * 1024;
/** Events are queued in so many portions, so that the backlog stays the same from the beginning to the end. */
const PORTIONS = 75;
/** What the end is compared with: 20,000 of 300,000. */
const EARLY_SHARE = 1 / 15;
/** Of the API. Its heap is collected whole every fifth second then: with fewer, half the run would be two or three such waves. */
const REQUESTS_PER_SECOND = 250;
/** Of the resident memory, over the second half: less is the noise of a heap that is collected now and then. */
const GROWTH_PERCENT_MAX = 2;

/** After so many deliveries, the resident bytes of each process. */
interface Sample {
  readonly deliveries: number;
  readonly bytes: Readonly<Record<(typeof NAMES)[number], number>>;
}

export const processMemory: Figure = {
  id: 'process-memory',
  title: 'Memory of api, relay and worker over many deliveries',
  group: 'load',
  how:
    'Started once, api, relay and worker run while events are queued portion by portion; the api answers ' +
    `${REQUESTS_PER_SECOND} requests a second meanwhile. Resident memory is read from /proc four times a second. ` +
    'Compared are the medians around a fifteenth of the deliveries (± a tenth of that) and over their last tenth. ' +
    'The slope over the second half is the median of the ' +
    `slopes between all pairs of samples (Theil–Sen); up to ${GROWTH_PERCENT_MAX} % of the memory counts as none. One long ` +
    'run: its spread is that of the samples.',
  limitSeconds: 480,
  async run(ground) {
    requireProcessFigures();
    const { samples, api } = await runOnce(ground);
    const { values, ...rest } = measurement(samples, ground.sizes.memoryDeliveries);
    return {
      ...rest,
      values: [
        ...values,
        valueOf('api: requests answered meanwhile', '', [api.answered]),
        valueOf('api: of them refused with 429, its limiter being late', '', [api.refused]),
      ],
    };
  },
};

async function runOnce(
  ground: Ground,
): Promise<{ samples: Sample[]; api: { answered: number; refused: number } }> {
  const { process: receiver, origins } = await ground.receiver();
  const installation = await ground.install();
  const webhooks = await installation.addWebhooks(await installation.addAccount(), [
    `${origins[0] ?? ''}/at-once`,
  ]);
  for (const name of NAMES) await installation.start(name);
  const traffic = await createApiTraffic(installation, { perSecond: REQUESTS_PER_SECOND });
  const samples: Sample[] = [];
  const sampling = setInterval(() => {
    void sample(installation, receiver).then((one) => samples.push(one), traffic.fail);
  }, SAMPLE_EVERY_MS);
  try {
    await Promise.race([feed(ground, { installation, receiver, webhooks }), traffic.failed]);
  } finally {
    clearInterval(sampling);
    await traffic.stop();
  }
  return { samples, api: traffic.answers };
}

/** Always two portions in the table: one that is drained, and one more. */
async function feed(
  ground: Ground,
  bed: {
    readonly installation: Installation;
    readonly receiver: RoleProcess<ReceiverCommands>;
    readonly webhooks: readonly WebhookId[];
  },
): Promise<void> {
  const { installation, receiver, webhooks } = bed;
  const portion = ground.sizes.memoryDeliveries / PORTIONS;
  await installation.queue(webhooks, portion);
  for (let queued = 1; queued <= PORTIONS; queued += 1) {
    if (queued < PORTIONS) await installation.queue(webhooks, portion);
    await receiver.call('reached', { count: queued * portion, withinMs: 60_000 });
    if (queued % (PORTIONS / 5) === 0) ground.say(`${queued * portion} deliveries made`);
  }
}

async function sample({ processes }: Installation, receiver: RoleProcess<ReceiverCommands>): Promise<Sample> {
  const { events } = await receiver.call('counts', null);
  const bytes = Object.fromEntries(processes.map(({ name, pid }) => [name, residentBytesOf(pid)]));
  return { deliveries: events, bytes: bytes as Sample['bytes'] };
}

function measurement(samples: readonly Sample[], count: number): Measurement {
  const within = (from: number, to: number) =>
    samples.filter(({ deliveries }) => deliveries >= from && deliveries <= to);
  const early = within(0.9 * EARLY_SHARE * count, 1.1 * EARLY_SHARE * count);
  const late = within(0.9 * count, count);
  const secondHalf = within(0.5 * count, count);
  const of = (some: readonly Sample[], name: (typeof NAMES)[number]) => some.map(({ bytes }) => bytes[name]);
  return {
    checks: NAMES.flatMap((name) => [
      checkOf(
        `${name}: memory after all, against a fifteenth of the deliveries`,
        '×',
        of(late, name).map((bytes) => bytes / median(of(early, name))),
        { atMost: 1.25 },
      ),
      checkOf(
        `${name}: growth over the second half`,
        '%',
        [
          growthPercent(
            secondHalf.map((one) => [one.deliveries, one.bytes[name]]),
            count / 2,
          ),
        ],
        { atMost: GROWTH_PERCENT_MAX },
      ),
    ]),
    values: NAMES.flatMap((name) => [
      valueOf(
        `${name}: resident memory after a fifteenth`,
        'MiB',
        of(early, name).map((bytes) => bytes / MIB),
      ),
      valueOf(
        `${name}: resident memory after all`,
        'MiB',
        of(late, name).map((bytes) => bytes / MIB),
      ),
    ]),
    tables: [],
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
          points: samples.map(
            ({ deliveries, bytes }) => [deliveries, round(bytes[name] / MIB)] as [number, number],
          ),
        })),
      },
    ],
  };
}

function growthPercent(points: readonly (readonly [number, number])[], over: number): number {
  return ((slopeOf(points) * over) / median(points.map(([, bytes]) => bytes))) * 100;
}

function round(mib: number): number {
  return Math.round(mib * 10) / 10;
}
