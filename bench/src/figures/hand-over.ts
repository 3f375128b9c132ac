import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import { BARE_CONCURRENCY, measureBareMicros } from '../load/bare-burst.ts';
import type { BareMicros } from '../load/bare-burst.ts';
import { everyProcess, scaled, sumOf, watchCpu } from '../load/cpu-watch.ts';
import type { ByProcess } from '../load/cpu-watch.ts';
import { queueMail } from '../load/queue-mail.ts';
import { installWithEndpoint } from '../load/one-endpoint.ts';
import { monotonicMs } from '../monotonic.ts';
import { judging } from '../result/result.ts';

const ARRIVAL_TIMEOUT_MS = 120_000;
const HANDING_OVER = ['worker', 'relay', 'Postgres', 'Redis'];

interface Round {
  readonly perSecond: number;
  /** Microseconds of CPU per mail, by process. */
  readonly cpuMicros: ByProcess;
  readonly bareMicros: BareMicros;
}

export const handOver: Figure = {
  id: 'hand-over',
  title: 'Mail handed over to the provider',
  group: 'load',
  how:
    'Messages of 2 KB are queued at once for an account with one webhook. One relay and one worker hand them over to the ' +
    'sandbox, which writes each to a file, and deliver the `email.sent` of each. The rate counts from the commit to the last ' +
    'arrival, CPU until the last outcome is recorded. The yardsticks are a bare post by `got` and one by `https.request` to the same receiver, ' +
    `${BARE_CONCURRENCY} in flight, in the same round.`,
  limitSeconds: 480,
  async run(fixture) {
    const round = await prepare(fixture);
    await round(fixture.sizes.warmUp);
    return measurement(await measureRounds(fixture, () => round(fixture.sizes.mails), describe));
  },
};

async function prepare(fixture: Fixture): Promise<(count: number) => Promise<Round>> {
  const { receiver, installation, accountId, url, webhooks } = await installWithEndpoint(fixture);
  await installation.start('relay');
  await installation.start('worker');
  const bare = fixture.bare();
  return async (count) => {
    const bareMicros = await measureBareMicros(bare, { url, count });
    await receiver.call('reset', null);
    const begun = monotonicMs();
    const cpu = watchCpu(everyProcess(fixture, installation, receiver.pid));
    await queueMail(installation, accountId, count);
    const endedAt = await receiver.call('reached', { count, withinMs: ARRIVAL_TIMEOUT_MS });
    await installation.drained(webhooks);
    return {
      perSecond: (count * 1000) / (endedAt - begun),
      cpuMicros: scaled(cpu(), 1e6 / count),
      bareMicros,
    };
  };
}

function measurement(rounds: readonly Round[]): Outcome {
  const { check, value } = judging(rounds);
  const against =
    (names: readonly string[], client: keyof BareMicros = 'got') =>
    ({ cpuMicros, bareMicros }: Round): number =>
      sumOf(cpuMicros, names) / bareMicros[client];
  return {
    checks: [
      check('worker’s CPU per mail, against a bare got post', '×', { atMost: 4 }, against(['worker'])),
      check(
        'CPU of worker, relay, Postgres and Redis per mail, against a bare got post',
        '×',
        { atMost: 7 },
        against(HANDING_OVER),
      ),
      check('mails handed over and told of', '/s', { atLeast: 500 }, ({ perSecond }) => perSecond),
    ],
    values: [
      value(
        'CPU of worker, relay, Postgres and Redis per mail, against a bare https.request',
        '×',
        against(HANDING_OVER, 'https.request'),
      ),
      value('CPU per mail: worker, relay, Postgres and Redis', 'µs', ({ cpuMicros }) =>
        sumOf(cpuMicros, HANDING_OVER),
      ),
      ...HANDING_OVER.map((name) =>
        value(`CPU per mail: ${name}`, 'µs', ({ cpuMicros }) => sumOf(cpuMicros, [name])),
      ),
      value('CPU per bare got post', 'µs', ({ bareMicros }) => bareMicros.got),
      value('CPU per bare https.request', 'µs', ({ bareMicros }) => bareMicros['https.request']),
    ],
  };
}

function describe({ perSecond, cpuMicros, bareMicros }: Round): string {
  return (
    `${perSecond.toFixed(0)}/s, ${(cpuMicros['worker'] ?? 0).toFixed(0)} µs of the worker’s CPU a mail; ` +
    `a bare got post ${bareMicros.got.toFixed(0)}`
  );
}
