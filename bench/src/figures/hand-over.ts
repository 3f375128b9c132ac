import type { Figure, Fixture } from '../figure.ts';
import { BARE_CONCURRENCY, postBareBurst } from '../load/bare-burst.ts';
import { everyProcess, sumOf, watchCpu } from '../load/cpu-watch.ts';
import type { CpuSeconds } from '../load/cpu-watch.ts';
import { queueMail } from '../load/queue-mail.ts';
import { monotonicMs } from '../monotonic.ts';
import { checkOf, valueOf } from '../result/result.ts';
import type { Measurement } from '../result/result.ts';

const WITHIN_MS = 120_000;

interface Round {
  readonly perSecond: number;
  /** Microseconds of CPU per mail, by process. */
  readonly cpu: CpuSeconds;
  /** Microseconds of CPU of a bare got post. */
  readonly bareMicros: number;
}

export const handOver: Figure = {
  id: 'hand-over',
  title: 'Mail handed over to the provider',
  group: 'load',
  how:
    'Messages of 2 KB are queued at once for an account with one webhook. One relay and one worker hand them over to the ' +
    'sandbox, which writes each to a file, and deliver the `email.sent` of each. The rate counts from the commit to the last ' +
    'arrival, CPU until the last outcome is recorded. The yardstick is a bare `got` post to the same receiver, ' +
    `${BARE_CONCURRENCY} in flight, in the same round.`,
  limitSeconds: 480,
  async run(fixture) {
    const round = await prepare(fixture);
    await round(Math.ceil(fixture.sizes.mails / 4));
    const rounds: Round[] = [];
    for (let number = 1; number <= fixture.rounds; number += 1) {
      const measured = await round(fixture.sizes.mails);
      rounds.push(measured);
      fixture.say(
        `round ${number} of ${fixture.rounds}: ${measured.perSecond.toFixed(0)}/s, ` +
          `${(measured.cpu['worker'] ?? 0).toFixed(0)} µs of the worker’s CPU a mail; a bare got post ${measured.bareMicros.toFixed(0)}`,
      );
    }
    return measurement(rounds);
  },
};

async function prepare(fixture: Fixture): Promise<(count: number) => Promise<Round>> {
  const { process: receiver, origins } = await fixture.receiver();
  const url = `${origins[0] ?? ''}/at-once`;
  const installation = await fixture.install();
  const accountId = await installation.addAccount();
  const webhooks = await installation.addWebhooks(accountId, [url]);
  await installation.start('relay');
  await installation.start('worker');
  const bare = fixture.bare();
  return async (count) => {
    const yardstick = await postBareBurst(bare, { client: 'got', url, count });
    await receiver.call('reset', null);
    const begun = monotonicMs();
    const cpu = watchCpu(everyProcess(fixture, installation, receiver.pid));
    await queueMail(installation, accountId, count);
    const endedAt = await receiver.call('reached', { count, withinMs: WITHIN_MS });
    await installation.drained(webhooks);
    const micros = Object.entries(cpu()).map(([name, seconds]) => [name, (seconds / count) * 1e6] as const);
    return {
      perSecond: (count * 1000) / (endedAt - begun),
      cpu: Object.fromEntries(micros),
      bareMicros: (yardstick.cpuSeconds / count) * 1e6,
    };
  };
}

function measurement(rounds: readonly Round[]): Measurement {
  const against = (names: readonly string[]): number[] =>
    rounds.map(({ cpu, bareMicros }) => sumOf(cpu, names) / bareMicros);
  return {
    checks: [
      checkOf('worker’s CPU per mail, against a bare got post', '×', against(['worker']), { atMost: 4 }),
      checkOf(
        'CPU of worker, relay and Postgres per mail, against a bare got post',
        '×',
        against(['worker', 'relay', 'Postgres']),
        { atMost: 7 },
      ),
      checkOf(
        'mails handed over and told of',
        '/s',
        rounds.map(({ perSecond }) => perSecond),
        { atLeast: 500 },
      ),
    ],
    values: [
      ...['worker', 'relay', 'Postgres', 'Redis'].map((name) =>
        valueOf(
          `CPU per mail: ${name}`,
          'µs',
          rounds.map(({ cpu }) => sumOf(cpu, [name])),
        ),
      ),
      valueOf(
        'CPU per bare got post',
        'µs',
        rounds.map(({ bareMicros }) => bareMicros),
      ),
    ],
    tables: [],
    plots: [],
  };
}
