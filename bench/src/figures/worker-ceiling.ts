import { keepLastCoreFree } from '../cores.ts';
import type { Figure, Fixture } from '../figure.ts';
import { sumOf } from '../load/cpu-watch.ts';
import { drainBurst } from '../load/drain-burst.ts';
import type { Burst } from '../load/drain-burst.ts';
import { checkOf, valueOf } from '../result/result.ts';
import type { Measurement } from '../result/result.ts';

/** The processes on the other cores. */
const OTHERS = ['relay', 'Postgres', 'Redis', 'receiver'];

export const workerCeiling: Figure = {
  id: 'worker-ceiling',
  title: 'As much as one worker delivers',
  group: 'load',
  how:
    'A burst of fresh events for one endpoint is committed at once and drained, as in “A burst to one endpoint”, but the worker has the ' +
    'last core for itself, and relay, Redis, Postgres’ sessions and the receiver share the others. While its core is busy and the ' +
    'others are not, the rate is what one worker can do.',
  limitSeconds: 240,
  coresMin: 3, // the other processes together cost as much as the worker: one core for them would be the limit
  async run(fixture) {
    const lastCore = keepLastCoreFree([process.pid, fixture.cluster.pid]);
    try {
      const drain = await prepare(fixture, lastCore);
      await drain();
      const bursts: Burst[] = [];
      for (let number = 1; number <= fixture.rounds; number += 1) {
        const burst = await drain();
        bursts.push(burst);
        fixture.say(
          `round ${number} of ${fixture.rounds}: ${(fixture.sizes.burst / burst.seconds).toFixed(0)}/s, ` +
            `its core busy for ${busy(burst, ['worker']).toFixed(0)} %`,
        );
      }
      return measurement(bursts, fixture.sizes.burst);
    } finally {
      lastCore.end();
    }
  },
};

async function prepare(
  fixture: Fixture,
  lastCore: ReturnType<typeof keepLastCoreFree>,
): Promise<() => Promise<Burst>> {
  const { process: receiver, origins } = await fixture.receiver();
  const installation = await fixture.install();
  const accountId = await installation.addAccount();
  const webhooks = await installation.addWebhooks(accountId, [`${origins[0] ?? ''}/at-once`]);
  await installation.start('relay');
  lastCore.give((await installation.start('worker')).pid);
  return () => drainBurst(fixture, installation, receiver, { webhooks, count: fixture.sizes.burst });
}

function measurement(bursts: readonly Burst[], count: number): Measurement {
  return {
    checks: [
      checkOf(
        'the worker’s core is busy',
        '%',
        bursts.map((burst) => busy(burst, ['worker'])),
        { atLeast: 90 },
      ),
    ],
    values: [
      valueOf(
        'deliveries',
        '/s',
        bursts.map(({ seconds }) => count / seconds),
      ),
      ...['worker', ...OTHERS].map((name) =>
        valueOf(
          `CPU per delivery: ${name}`,
          'µs',
          bursts.map(({ cpu }) => (sumOf(cpu, [name]) / count) * 1e6),
        ),
      ),
      valueOf(
        'relay, Redis, Postgres and receiver together',
        '% of a core',
        bursts.map((burst) => busy(burst, OTHERS)),
      ),
    ],
    tables: [],
    plots: [],
  };
}

/** Percent of a core. */
function busy({ cpu, seconds }: Burst, names: readonly string[]): number {
  return (sumOf(cpu, names) / seconds) * 100;
}
