import { median, usableCores } from '@postrider/testing';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import { BARE_CONCURRENCY, postBareBurst } from '../load/bare-burst.ts';
import { scaled, sumOf, watchCpu } from '../load/cpu-watch.ts';
import type { ByProcess } from '../load/cpu-watch.ts';
import { drainBurst } from '../load/drain-burst.ts';
import { installWithEndpoint } from '../load/one-endpoint.ts';
import { judging } from '../result/result.ts';
import type { Plot } from '../result/result.ts';
import { BARE_CLIENTS } from '../roles/bare-client.ts';
import type { BareClientName } from '../roles/bare-client.ts';

/** Our processes on the path of a delivery. */
const SENDING = ['relay', 'worker', 'Postgres', 'Redis'];

/** The cost of one delivery or one bare post. */
interface Cost {
  readonly perSecond: number;
  /** Microseconds of CPU per delivery, by process. */
  readonly cpuMicros: ByProcess;
}

/** The cost of each sender. Their bursts run one after the other. */
type Round = Readonly<Record<BareClientName | 'Postrider', Cost>>;

export const drain: Figure = {
  id: 'drain',
  title: 'A burst to one endpoint: CPU and rate',
  group: 'load',
  how:
    'A burst of fresh events for one endpoint is committed at once, and one relay and one worker drain it. The ' +
    'yardsticks post as many signed bodies of the same size to the same receiver, by three clients of Node: bare `got`, ' +
    '`https.request` and undici’s `dispatch`, TLS, keep-alive, ' +
    `${BARE_CONCURRENCY} posts in flight, and neither Postgres nor Redis nor a queue. All processes share the ` +
    'machine’s cores. The rate counts from the commit to the last arrival, CPU until the last outcome is recorded.',
  limitSeconds: 480,
  async run(fixture) {
    const round = await prepare(fixture);
    await round(fixture.sizes.warmUp);
    return measurement(await measureRounds(fixture, () => round(fixture.sizes.burst), describe));
  },
};

/** @returns a function that runs one round of `count` events, and as many posts of each client */
async function prepare(fixture: Fixture): Promise<(count: number) => Promise<Round>> {
  const { receiver, installation, url, webhooks } = await installWithEndpoint(fixture);
  await installation.start('relay');
  await installation.start('worker');
  const bare = fixture.bare();

  async function bareBurst(client: BareClientName, count: number): Promise<Cost> {
    await receiver.call('reset', null);
    const cpu = watchCpu([['receiver', { pid: receiver.pid }]]);
    const cost = await postBareBurst(bare, { client, url, count });
    return costOf(count, cost.seconds, { client: cost.cpuSeconds, ...cpu() });
  }

  return async (count) => {
    const got = await bareBurst('got', count);
    const https = await bareBurst('https.request', count);
    const undici = await bareBurst('undici.dispatch', count);
    const { seconds, cpu } = await drainBurst(fixture, installation, receiver, { webhooks, count });
    const postrider = costOf(count, seconds, cpu);
    return { got, 'https.request': https, 'undici.dispatch': undici, Postrider: postrider };
  };
}

function costOf(count: number, seconds: number, cpu: ByProcess): Cost {
  return { perSecond: count / seconds, cpuMicros: scaled(cpu, 1e6 / count) };
}

function measurement(rounds: readonly Round[]): Outcome {
  const { check, value } = judging(rounds);
  return {
    checks: [
      check(
        'worker’s CPU per delivery, against a bare got post',
        '×',
        { atMost: 0.7 },
        (round) => cpuOf(round.Postrider, ['worker']) / cpuOf(round.got, ['client']),
      ),
      check(
        'CPU of relay, worker, Redis and Postgres per delivery, against a bare got post',
        '×',
        { atMost: 1.1 },
        (round) => cpuOf(round.Postrider, SENDING) / cpuOf(round.got, ['client']),
      ),
      check(
        'deliveries per second, against bare got posts',
        '×',
        { atLeast: usableCores().length < 4 ? 1.1 : 1.5 },
        (round) => round.Postrider.perSecond / round.got.perSecond,
      ),
    ],
    values: [
      value('deliveries', '/s', (round) => round.Postrider.perSecond),
      value('bare got posts', '/s', (round) => round.got.perSecond),
      value('CPU per delivery: relay, worker, Redis and Postgres', 'µs', (round) =>
        cpuOf(round.Postrider, SENDING),
      ),
      value(
        'CPU of relay, worker, Redis and Postgres per delivery, against a bare https.request',
        '×',
        (round) => cpuOf(round.Postrider, SENDING) / cpuOf(round['https.request'], ['client']),
      ),
      ...[...SENDING, 'receiver'].map((name) =>
        value(`CPU per delivery: ${name}`, 'µs', (round) => cpuOf(round.Postrider, [name])),
      ),
      ...BARE_CLIENTS.map((client) =>
        value(`CPU per bare post: ${client}`, 'µs', (round) => cpuOf(round[client], ['client'])),
      ),
    ],
    plots: [cpuPlot(rounds)],
  };
}

function cpuOf({ cpuMicros }: Cost, names: readonly string[]): number {
  return sumOf(cpuMicros, names);
}

function cpuPlot(rounds: readonly Round[]): Plot {
  const senders = [...BARE_CLIENTS, 'Postrider'] as const;
  const medianOf = (sender: keyof Round, name: string): number =>
    median(rounds.map((round) => round[sender].cpuMicros[name] ?? 0));
  return {
    kind: 'bars',
    stacked: true,
    id: 'cpu-by-process',
    title: 'CPU of every process, per delivery and per bare post (median)',
    xLabel: '',
    yLabel: 'µs of CPU',
    categories: [...senders],
    series: ['client', ...SENDING, 'receiver'].map((name) => ({
      name,
      values: senders.map((sender) => medianOf(sender, name)),
    })),
  };
}

function describe(round: Round): string {
  const bare = BARE_CLIENTS.map((client) => `${client} ${cpuOf(round[client], ['client']).toFixed(0)}`);
  return (
    `Postrider ${round.Postrider.perSecond.toFixed(0)}/s, ${cpuOf(round.Postrider, ['worker']).toFixed(0)} µs of the ` +
    `worker’s CPU each, ${cpuOf(round.Postrider, SENDING).toFixed(0)} in all; a bare post: ${bare.join(', ')} µs`
  );
}
