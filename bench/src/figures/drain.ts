import type { Figure, Ground } from '../figure.ts';
import { BARE_BODY } from '../ground/installation.ts';
import { watchCpu } from '../load/cpu-watch.ts';
import type { CpuSeconds } from '../load/cpu-watch.ts';
import { drainBurst } from '../load/drain-burst.ts';
import { checkOf, valueOf } from '../result/result.ts';
import type { Measurement, Plot } from '../result/result.ts';
import { median } from '../result/statistics.ts';

/** Posts of the yardstick in flight. */
const BARE_CONCURRENCY = 64;
/** The share of a burst that is sent beforehand: connections up, code compiled, the endpoint known to answer. */
const WARM_UP_SHARE = 0.1;

/** What one delivery, or one bare post, took. */
interface Cost {
  readonly perSecond: number;
  /** Microseconds of CPU for each, by process. */
  readonly cpuMicros: CpuSeconds;
}

export const drain: Figure = {
  id: 'drain',
  title: 'A burst to one endpoint: CPU and rate',
  group: 'load',
  how:
    'A burst of fresh events for one endpoint is committed at once, and one relay and one worker drain it. The ' +
    'yardstick posts as many signed bodies of the same size to the same receiver: bare `got`, TLS, keep-alive, ' +
    `${BARE_CONCURRENCY} posts in flight, and neither Postgres nor Redis nor a queue. All processes share the ` +
    'machine’s cores. The rate counts from the commit to the last arrival, CPU until the last outcome is recorded.',
  limitSeconds: 480,
  async run(ground) {
    const sender = await prepare(ground);
    const warmUp = Math.ceil(ground.sizes.burst * WARM_UP_SHARE);
    await sender.bare(warmUp);
    await sender.postrider(warmUp);
    const bare: Cost[] = [];
    const postrider: Cost[] = [];
    for (let round = 1; round <= ground.rounds; round += 1) {
      bare.push(await sender.bare(ground.sizes.burst));
      postrider.push(await sender.postrider(ground.sizes.burst));
      ground.say(`round ${round} of ${ground.rounds}: ${describe(bare.at(-1), postrider.at(-1))}`);
    }
    return measurement(bare, postrider);
  },
};

async function prepare(ground: Ground) {
  const { process: receiver, origins } = await ground.receiver();
  const endpoint = `${origins[0] ?? ''}/at-once`;
  const installation = await ground.install();
  const webhooks = await installation.addWebhooks(await installation.addAccount(), [endpoint]);
  await installation.start('relay');
  await installation.start('worker');
  const bare = ground.bare();
  return {
    async bare(count: number): Promise<Cost> {
      await receiver.call('reset', null);
      const cpu = watchCpu([['receiver', { pid: receiver.pid }]]);
      const cost = await bare.call('burst', {
        url: endpoint,
        body: BARE_BODY,
        count,
        concurrency: BARE_CONCURRENCY,
      });
      return costOf(count, cost.seconds, { got: cost.cpuSeconds, ...cpu() });
    },
    async postrider(count: number): Promise<Cost> {
      const { seconds, cpu } = await drainBurst(ground, installation, receiver, { webhooks, count });
      return costOf(count, seconds, cpu);
    },
  };
}

function costOf(count: number, seconds: number, cpu: CpuSeconds): Cost {
  const each = Object.entries(cpu).map(([name, used]) => [name, (used / count) * 1e6] as const);
  return { perSecond: count / seconds, cpuMicros: Object.fromEntries(each) };
}

function measurement(bare: readonly Cost[], postrider: readonly Cost[]): Measurement {
  const rounds = bare.map((one, index) => ({ bare: one, postrider: postrider[index] ?? one }));
  const senderCpu = ({ cpuMicros }: Cost, name: string): number => cpuMicros[name] ?? Number.NaN;
  return {
    checks: [
      checkOf(
        'worker’s CPU per delivery, against a bare post',
        '×',
        rounds.map((round) => senderCpu(round.postrider, 'worker') / senderCpu(round.bare, 'got')),
        { atMost: 1.5 },
      ),
      checkOf(
        'deliveries per second, against bare posts',
        '×',
        rounds.map((round) => round.postrider.perSecond / round.bare.perSecond),
        { atLeast: 0.5 },
      ),
    ],
    values: [
      valueOf(
        'deliveries',
        '/s',
        postrider.map((cost) => cost.perSecond),
      ),
      valueOf(
        'bare posts',
        '/s',
        bare.map((cost) => cost.perSecond),
      ),
      ...cpuValues('delivery', postrider),
      ...cpuValues('bare post', bare),
    ],
    tables: [],
    plots: [cpuPlot(bare, postrider)],
  };
}

function namesOf(costs: readonly Cost[]): string[] {
  return Object.keys(costs[0]?.cpuMicros ?? {});
}

function cpuValues(what: string, costs: readonly Cost[]) {
  return namesOf(costs).map((name) =>
    valueOf(
      `CPU per ${what}: ${name}`,
      'µs',
      costs.map((cost) => cost.cpuMicros[name] ?? Number.NaN),
    ),
  );
}

function cpuPlot(bare: readonly Cost[], postrider: readonly Cost[]): Plot {
  const medianOf = (costs: readonly Cost[], name: string): number =>
    namesOf(costs).includes(name) ? median(costs.map((cost) => cost.cpuMicros[name] ?? 0)) : 0;
  return {
    kind: 'bars',
    stacked: true,
    id: 'cpu-by-process',
    title: 'CPU of every process, per delivery and per bare post (median)',
    xLabel: '',
    yLabel: 'µs of CPU',
    categories: ['bare got', 'Postrider'],
    series: [...new Set([...namesOf(bare), ...namesOf(postrider)])].map((name) => ({
      name,
      values: [medianOf(bare, name), medianOf(postrider, name)],
    })),
  };
}

function describe(bare: Cost | undefined, postrider: Cost | undefined): string {
  const text = (cost: Cost | undefined, sender: string): string =>
    `${(cost?.perSecond ?? 0).toFixed(0)}/s with ${(cost?.cpuMicros[sender] ?? 0).toFixed(0)} µs`;
  return `Postrider ${text(postrider, 'worker')} of the worker’s CPU each, bare got ${text(bare, 'got')}`;
}
