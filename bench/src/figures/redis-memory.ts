import { numberInInfo } from '@postrider/testing';
import { Redis } from 'ioredis';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import { queueBacklog } from '../load/queue-backlog.ts';
import type { Backlog } from '../load/queue-backlog.ts';
import { checkOf, valueOf } from '../result/result.ts';
import { FULL } from '../sizes.ts';

interface Scene {
  readonly name: string;
  /** The due times of `count` deliveries. */
  readonly parts: (count: number) => readonly Backlog[];
  readonly withWorker: boolean;
  /** True: measures Redis until the deliveries are due. False: until the relay adds no more jobs. */
  readonly untilDue?: boolean;
  /** Multiplies `backlogWebhooks`. */
  readonly webhooksTimes: number;
}

/** Several times the relay's limit of delayed jobs. */
const NEAR_MAX = 50_000;
const later = (count: number): Backlog => ({ count, fromSeconds: 3_600, toSeconds: 7_200 });

const SCENES: readonly Scene[] = [
  {
    name: 'due in an hour and later',
    parts: (count) => [later(count)],
    withWorker: true,
    webhooksTimes: 1,
  },
  {
    name: 'due now, all workers stopped',
    parts: (count) => [{ count, fromSeconds: -60, toSeconds: -1 }],
    withWorker: false,
    webhooksTimes: 1,
  },
  // The relay adds deliveries that are due within a minute, up to a limit. With many deliveries it looks less
  // far ahead, so it reaches the limit slowly as their due time comes. This is the largest queue. These
  // deliveries are inserted last, so that their due time is still in the future when the relay starts.
  {
    name: 'many due within the next minute, all workers stopped',
    parts: (count) => {
      const near = Math.min(NEAR_MAX, count / 2);
      return [later(count - near), { count: near, fromSeconds: 50, toSeconds: 60 }];
    },
    withWorker: false,
    untilDue: true,
    webhooksTimes: 10,
  },
];
/** A tenth of the backlog must need the same memory. */
const SHARES = [0.1, 1];
const SAMPLE_EVERY_MS = 250;
/** Smaller differences come from Redis' buffers. */
const RISE = 1.01;
const SETTLED_AFTER_MS_MAX = 35_000;
const MIB = 1024 * 1024;

export const redisMemory: Figure = {
  id: 'redis-memory',
  title: 'Redis’ memory with a backlog',
  group: 'load',
  how:
    'The backlog is written to Postgres, a relay starts, and Redis is asked for `used_memory` (INFO) four times a second ' +
    'until it rises no more; the highest answer counts. Three times: nothing due for an hour, with a worker; everything ' +
    `due and no worker; ${NEAR_MAX.toLocaleString('en')} of the backlog due within the next minute and no worker, which ` +
    'is when the queue is fullest (there, ten times as many webhooks share it, since of each the relay puts in a few ' +
    `only, and Redis is asked for ${FULL.redisUntilDueSeconds} seconds, until their time has come). Flat is what takes no ` +
    'more than 1.1 times what a tenth of the backlog takes. One run each: the numbers do ' +
    'not vary.',
  limitSeconds: 480,
  async run(fixture) {
    const peaks: { scene: string; count: number; bytes: number }[] = [];
    for (const scene of SCENES) {
      for (const share of SHARES) {
        const count = Math.round(fixture.sizes.backlog * share);
        const bytes = await peakOf(fixture, scene, count);
        peaks.push({ scene: scene.name, count, bytes });
        fixture.say(`${count} ${scene.name}: ${(bytes / MIB).toFixed(1)} MiB`);
      }
    }
    return measurement(peaks, fixture.sizes.backlog);
  },
};

async function peakOf(fixture: Fixture, scene: Scene, count: number): Promise<number> {
  const installation = await fixture.install();
  const webhooks = await installation.addWebhooks(
    await installation.addAccount(),
    Array.from(
      { length: fixture.sizes.backlogWebhooks * scene.webhooksTimes },
      (_, n) => `https://127.0.2.1/${n}`,
    ),
  );
  for (const part of scene.parts(count)) await queueBacklog(installation.database, webhooks, part);
  const redis = new Redis(installation.redis.url);
  try {
    await installation.start('relay');
    if (scene.withWorker) await installation.start('worker');
    const { redisSettledSeconds, redisUntilDueSeconds } = fixture.sizes;
    return await (scene.untilDue === true
      ? highestFor(redis, redisUntilDueSeconds * 1000)
      : settledMemory(redis, redisSettledSeconds * 1000));
  } finally {
    redis.disconnect();
    await installation.close();
  }
}

/** Polls until the value has stopped rising: the relay then adds no more jobs. */
async function settledMemory(redis: Redis, settledMs: number): Promise<number> {
  const begun = performance.now();
  let highest = 0;
  let lastRise = begun;
  while (performance.now() - lastRise < settledMs) {
    if (performance.now() - begun > SETTLED_AFTER_MS_MAX) throw new Error('Redis’ memory does not settle');
    const bytes = await usedMemory(redis);
    if (bytes > highest * RISE) lastRise = performance.now();
    highest = Math.max(highest, bytes);
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_EVERY_MS));
  }
  return highest;
}

async function highestFor(redis: Redis, watchMs: number): Promise<number> {
  let highest = 0;
  const begun = performance.now();
  while (performance.now() - begun < watchMs) {
    highest = Math.max(highest, await usedMemory(redis));
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_EVERY_MS));
  }
  return highest;
}

async function usedMemory(redis: Redis): Promise<number> {
  return numberInInfo(await redis.info('memory'), 'used_memory');
}

function measurement(
  peaks: readonly { readonly scene: string; readonly count: number; readonly bytes: number }[],
  whole: number,
): Outcome {
  const bytesOf = (scene: string, count: number): number =>
    peaks.find((peak) => peak.scene === scene && peak.count === count)?.bytes ?? Number.NaN;
  const tenth = Math.round(whole * (SHARES[0] ?? 1));
  return {
    checks: SCENES.flatMap(({ name }) => [
      checkOf(`${name}: memory`, 'MiB', [bytesOf(name, whole) / MIB], { atMost: 64 }),
      checkOf(`${name}: against a tenth of the backlog`, '×', [bytesOf(name, whole) / bytesOf(name, tenth)], {
        atMost: 1.1,
      }),
    ]),
    values: SCENES.map(({ name }) =>
      valueOf(`${name}: memory with a tenth of the backlog`, 'MiB', [bytesOf(name, tenth) / MIB]),
    ),
  };
}
