import { setTimeout as delay } from 'node:timers/promises';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import { median, quantile, quantilesInWords } from '@postrider/testing';
import type { ProcessName } from '@postrider/testing';
import { addKey } from '../load/api-traffic.ts';
import { BARE_CONCURRENCY, measureBareMicros } from '../load/bare-burst.ts';
import type { BareMicros } from '../load/bare-burst.ts';
import { everyProcess, scaled, sumOf, watchCpu } from '../load/cpu-watch.ts';
import type { ByProcess } from '../load/cpu-watch.ts';
import { postAtRate, postRequests } from '../load/post-requests.ts';
import { installWithEndpoint } from '../load/one-endpoint.ts';
import { monotonicMs } from '../monotonic.ts';
import { judging } from '../result/result.ts';

const CONCURRENCY = 16;
const ARRIVAL_TIMEOUT_MS = 120_000;

/** How the roles of the product share processes. */
interface Shape {
  readonly processes: readonly ProcessName[];
  readonly env: Readonly<Record<string, string>>;
  readonly inWords: string;
}

const SEPARATE: Shape = {
  processes: ['api', 'relay', 'worker'],
  env: {},
  inWords: 'api, relay and worker run, a process each',
};
const TOGETHER: Shape = {
  processes: ['all'],
  env: { ROLES: SEPARATE.processes.join(',') },
  inWords: 'api, relay and worker share one process (`start:all`)',
};

/** Requests per second. */
const RATES = [100, 10] as const;

interface Round {
  readonly perSecond: number;
  /** Microseconds of CPU per event, by process. */
  readonly eventMicros: ByProcess;
  readonly bareMicros: BareMicros;
  /** From the request until the endpoint has the whole body, at the higher rate. */
  readonly arrivedMs: readonly number[];
  /** Percent of a core by process, for each of `RATES`, and then without requests. */
  readonly percent: readonly ByProcess[];
}

export const requestToArrival: Figure = {
  id: 'request-to-arrival',
  title: 'From a request to its arrival',
  ...ofShape(SEPARATE),
};

export const oneProcess: Figure = {
  id: 'one-process',
  title: 'From a request to its arrival, in one process',
  ...ofShape(TOGETHER),
};

function ofShape(shape: Shape): Omit<Figure, 'id' | 'title'> {
  const ours = [...shape.processes, 'Redis', 'Postgres'];
  return {
    group: 'load',
    how:
      '`POST /v1/suppressions` with a new address each, for an account with one webhook whose endpoint answers at once; ' +
      `${shape.inWords}. First ${CONCURRENCY} requests in flight, as fast as they are answered: CPU of these processes, ` +
      'Redis and Postgres together until the last event has arrived, for each event, beside a bare post by `got` and by `https.request` to the same ' +
      `receiver (${BARE_CONCURRENCY} in flight, same round). Then ${RATES.join(' and ')} requests a second, in an open loop, and ` +
      'none at all: CPU of the same processes, in percent of a core, and the time from the request to the arrival of the ' +
      'whole body.',
    limitSeconds: 600,
    async run(fixture) {
      const round = await prepare(fixture, shape);
      await round(fixture.sizes.warmUp, 1);
      const measure = () => round(fixture.sizes.sends, fixture.sizes.latencySeconds);
      return measurement(await measureRounds(fixture, measure, (one) => describe(one, ours)), ours);
    },
  };
}

async function prepare(
  fixture: Fixture,
  { processes, env }: Shape,
): Promise<(count: number, seconds: number) => Promise<Round>> {
  const { receiver, installation, accountId, url, webhooks } = await installWithEndpoint(fixture);
  const started = await Promise.all(processes.map((name) => installation.start(name, env)));
  const port = started[0]?.port ?? Number.NaN; // the first serves the API
  const bare = fixture.bare();
  let made = 0;
  const bodyOf = (): Buffer => Buffer.from(JSON.stringify({ email: `someone${(made += 1)}@example.com` }));
  const request = { port, key: await addKey(installation, accountId), path: '/v1/suppressions', bodyOf };

  /** @returns seconds of CPU per process while the work runs */
  async function cpuOf(work: () => Promise<unknown>): Promise<ByProcess> {
    const cpu = watchCpu(everyProcess(fixture, installation, receiver.pid));
    await work();
    return cpu();
  }

  /** @returns the arrival time of the last event, once all outcomes are recorded */
  async function lastArrival(count: number): Promise<number> {
    const lastAtMs = await receiver.call('reached', { count, withinMs: ARRIVAL_TIMEOUT_MS });
    await installation.drained(webhooks);
    return lastAtMs;
  }

  async function steady(perSecond: number, seconds: number) {
    await receiver.call('reset', null);
    let dueAtMs: readonly number[] = [];
    const begun = monotonicMs();
    const madeBefore = made;
    const used = await cpuOf(async () => {
      dueAtMs = await postAtRate({ ...request, status: 201 }, { perSecond, seconds });
      await lastArrival(dueAtMs.length);
    });
    const tookSeconds = (monotonicMs() - begun) / 1000;
    const percent = scaled(used, 100 / tookSeconds);
    const arrivedAtMs = new Map(await receiver.call('arrivals', null));
    const events = await installation.database.query<{ id: string; email: string }>(
      `select id, data::json ->> 'to' as email from events where account_id = $1 and id = any ($2)`,
      [accountId, [...arrivedAtMs.keys()]],
    );
    const arrivedMs = events.map(({ id, email }) => {
      const number = Number(/\d+/.exec(email)?.[0]); // of the request: see `bodyOf`
      const dueAt = dueAtMs[number - madeBefore - 1] ?? Number.NaN;
      return (arrivedAtMs.get(id) ?? Number.NaN) - dueAt;
    });
    return { percent, arrivedMs };
  }

  return async (count, seconds) => {
    const bareMicros = await measureBareMicros(bare, { url, count });
    await receiver.call('reset', null);
    const begun = monotonicMs();
    let arrivedAt = begun;
    const used = await cpuOf(async () => {
      await postRequests({ ...request, status: 201, count, concurrency: CONCURRENCY });
      arrivedAt = await lastArrival(count);
    });
    const fast = await steady(RATES[0], seconds);
    const slow = await steady(RATES[1], seconds);
    const idle = await cpuOf(() => delay(seconds * 1000));
    return {
      perSecond: (count * 1000) / (arrivedAt - begun),
      eventMicros: scaled(used, 1e6 / count),
      bareMicros,
      arrivedMs: fast.arrivedMs,
      percent: [fast.percent, slow.percent, scaled(idle, 100 / seconds)],
    };
  };
}

function measurement(rounds: readonly Round[], ours: readonly string[]): Outcome {
  const { check, value } = judging(rounds);
  const medianOf = (pick: (round: Round) => number): number => median(rounds.map(pick));
  const micros = ({ eventMicros }: Round): number => sumOf(eventMicros, ours);
  const busy =
    (index: number) =>
    ({ percent }: Round): number =>
      sumOf(percent[index] ?? {}, ours);
  const arrived =
    (q: number) =>
    ({ arrivedMs }: Round): number =>
      quantile(arrivedMs, q);
  return {
    checks: [
      check(
        'CPU of all processes per event, against a bare got post',
        '×',
        { atMost: 2.7 },
        (round) => micros(round) / round.bareMicros.got,
      ),
      check(`request to arrival at ${RATES[0]}/s, p50`, 'ms', { atMost: 4 }, arrived(0.5)),
      check(`request to arrival at ${RATES[0]}/s, p99`, 'ms', { atMost: 15 }, arrived(0.99)),
      check(`all processes at ${RATES[0]}/s`, '% of a core', { atMost: 50 }, busy(0)),
      check(`all processes at ${RATES[1]}/s`, '% of a core', { atMost: 8 }, busy(1)),
      check('all processes, idle', '% of a core', { atMost: 1.5 }, busy(RATES.length)),
    ],
    values: [
      value('requests, to the last arrival', '/s', ({ perSecond }) => perSecond),
      value('CPU of all processes per event', 'µs', micros),
      value(
        'CPU of all processes per event, against a bare https.request',
        '×',
        (round) => micros(round) / round.bareMicros['https.request'],
      ),
      value('CPU per bare got post', 'µs', ({ bareMicros }) => bareMicros.got),
      value('CPU per bare https.request', 'µs', ({ bareMicros }) => bareMicros['https.request']),
    ],
    tables: [
      {
        title: 'CPU of each process',
        head: ['process', 'µs an event', ...RATES.map((rate) => `% of a core at ${rate}/s`), '% idle'],
        rows: ours.map((name) => [
          name,
          Math.round(medianOf(({ eventMicros }) => eventMicros[name] ?? Number.NaN)),
          ...[...RATES, 0].map((_, index) =>
            Number(medianOf(({ percent }) => percent[index]?.[name] ?? Number.NaN).toFixed(2)),
          ),
        ]),
      },
    ],
  };
}

function describe(round: Round, ours: readonly string[]): string {
  const { perSecond, eventMicros, bareMicros, arrivedMs, percent } = round;
  const shares = percent.map((each) => sumOf(each, ours).toFixed(1)).join(', ');
  return (
    `${perSecond.toFixed(0)}/s, ${sumOf(eventMicros, ours).toFixed(0)} µs an event, a bare got post ${bareMicros.got.toFixed(0)}; ` +
    `${quantilesInWords(arrivedMs)}; ${shares} % of a core`
  );
}
