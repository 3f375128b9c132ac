import { keepLastCoreFree } from '../cores.ts';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import { sumOf } from '../load/cpu-watch.ts';
import { drainBurst } from '../load/drain-burst.ts';
import type { Burst } from '../load/drain-burst.ts';
import { installWithEndpoint } from '../load/one-endpoint.ts';
import { judging } from '../result/result.ts';

/** The processes on the other cores. */
const OTHERS = ['relay', 'Postgres', 'Redis', 'receiver'];

export const workerCeiling: Figure = {
  id: 'worker-ceiling',
  title: 'The most that one worker delivers',
  group: 'load',
  how:
    'A burst of fresh events for one endpoint is committed at once and drained, as in “A burst to one endpoint”. The worker has the ' +
    'last core for itself. Relay, Redis, Postgres’ sessions and the receiver share the others. While its core is busy and the ' +
    'others are not, the rate is what one worker can do. A run on fewer than three cores leaves this figure out.',
  limitSeconds: 240,
  coresMin: 3, // with two cores, the core of the other processes would be full first
  async run(fixture) {
    const lastCore = keepLastCoreFree([process.pid, fixture.cluster.pid]);
    try {
      const drain = await prepare(fixture, lastCore);
      await drain();
      const { burst: count } = fixture.sizes;
      const describe = (burst: Burst): string =>
        `${(count / burst.seconds).toFixed(0)}/s, its core busy for ${busy(burst, ['worker']).toFixed(0)} %`;
      return measurement(await measureRounds(fixture, drain, describe), count);
    } finally {
      lastCore.end();
    }
  },
};

async function prepare(
  fixture: Fixture,
  lastCore: ReturnType<typeof keepLastCoreFree>,
): Promise<() => Promise<Burst>> {
  const { receiver, installation, webhooks } = await installWithEndpoint(fixture);
  await installation.start('relay');
  lastCore.give((await installation.start('worker')).pid);
  return () => drainBurst(fixture, installation, receiver, { webhooks, count: fixture.sizes.burst });
}

function measurement(bursts: readonly Burst[], count: number): Outcome {
  const { check, value } = judging(bursts);
  return {
    checks: [check('the worker’s core is busy', '%', { atLeast: 90 }, (burst) => busy(burst, ['worker']))],
    values: [
      value('deliveries', '/s', ({ seconds }) => count / seconds),
      ...['worker', ...OTHERS].map((name) =>
        value(`CPU per delivery: ${name}`, 'µs', ({ cpu }) => (sumOf(cpu, [name]) / count) * 1e6),
      ),
      value('relay, Redis, Postgres and receiver together', '% of a core', (burst) => busy(burst, OTHERS)),
    ],
  };
}

/** Percent of a core. */
function busy({ cpu, cpuWindowSeconds }: Burst, names: readonly string[]): number {
  return (sumOf(cpu, names) / cpuWindowSeconds) * 100;
}
