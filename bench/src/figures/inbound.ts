import type { Figure, Fixture } from '../figure.ts';
import { watchCpu } from '../load/cpu-watch.ts';
import { withInboundFixture } from '../load/inbound-fixture.ts';
import type { InboundFixture } from '../load/inbound-fixture.ts';
import { sendIncoming } from '../load/incoming-mail.ts';
import { monotonicMs } from '../monotonic.ts';
import { checkOf, valueOf } from '../result/result.ts';
import type { Measurement } from '../result/result.ts';
import type { Sizes } from '../sizes.ts';

const CONNECTIONS = 8;

interface Kind {
  readonly name: string;
  readonly bytes: number;
  readonly count: (sizes: Sizes) => number;
  /** CPU of the inbound process divided by that of the yardstick, which only reads and answers. */
  readonly cpuTimesAtMost: number;
}

const KINDS: readonly Kind[] = [
  { name: '20 KB', bytes: 20_000, count: ({ inbound }) => inbound.small, cpuTimesAtMost: 50 },
  { name: '5 MB', bytes: 5_000_000, count: ({ inbound }) => inbound.large, cpuTimesAtMost: 10 },
];

/** The cost of a message for the inbound process. */
interface Cost {
  readonly cpuMs: number;
  readonly perSecond: number;
}

interface Round {
  readonly ours: Cost;
  readonly bare: Cost;
}

export const inbound: Figure = {
  id: 'inbound',
  title: 'Receiving mail',
  group: 'load',
  how:
    `Messages of 20 KB and of 5 MB, each with a text and an attachment of its own, come in over ${CONNECTIONS} connections, as fast ` +
    'as they are answered with 250: written to the blob store and to Postgres durably, parsed, judged by SPF, DKIM and DMARC ' +
    'against a name server that knows no name, stored with their events. In turn with a bare `smtp-server`, which throws them ' +
    'away. CPU is that of the one process that receives, user and system, its threads included. Neither relay nor worker run.',
  limitSeconds: 240,
  run: (fixture) => withInboundFixture((mail) => measure(fixture, mail)),
};

async function measure(fixture: Fixture, mail: InboundFixture): Promise<Measurement> {
  const installation = await fixture.install();
  const to = await mail.addInbox(installation, await installation.addAccount());
  const ours = await mail.start(installation);
  const bare = fixture.bareSmtp();
  const barePort = await bare.call('listen', { latencyMs: 0 });
  const rounds = KINDS.map((): Round[] => []);
  for (let round = 0; round <= fixture.rounds; round += 1) {
    for (const [index, kind] of KINDS.entries()) {
      const count = kind.count(fixture.sizes);
      const load = (port: number, pid: number): Promise<Cost> =>
        costOf(pid, count, () => sendIncoming({ port, to, bytes: kind.bytes }, count, CONNECTIONS));
      const one = { bare: await load(barePort, bare.pid), ours: await load(ours.port, ours.pid) };
      if (round === 0) continue; // warm-up
      rounds[index]?.push(one);
      fixture.say(`round ${round} of ${fixture.rounds}: ${kind.name}: ${describe(one)}`);
    }
  }
  return measurement(rounds);
}

async function costOf(pid: number, count: number, work: () => Promise<void>): Promise<Cost> {
  const cpu = watchCpu([['served', { pid }]]);
  const begun = monotonicMs();
  await work();
  const seconds = (monotonicMs() - begun) / 1000;
  return { cpuMs: ((cpu()['served'] ?? Number.NaN) * 1000) / count, perSecond: count / seconds };
}

function measurement(rounds: readonly (readonly Round[])[]): Measurement {
  const each = (index: number, pick: (round: Round) => number): number[] => (rounds[index] ?? []).map(pick);
  return {
    checks: KINDS.map(({ name, cpuTimesAtMost }, index) =>
      checkOf(
        `${name}: CPU of the inbound process per message, against the yardstick`,
        '×',
        each(index, ({ ours, bare }) => ours.cpuMs / bare.cpuMs),
        { atMost: cpuTimesAtMost },
      ),
    ),
    values: KINDS.flatMap(({ name }, index) => [
      valueOf(
        `${name}: messages`,
        '/s',
        each(index, ({ ours }) => ours.perSecond),
      ),
      valueOf(
        `${name}: messages, bare smtp-server`,
        '/s',
        each(index, ({ bare }) => bare.perSecond),
      ),
      valueOf(
        `${name}: CPU per message`,
        'ms',
        each(index, ({ ours }) => ours.cpuMs),
      ),
      valueOf(
        `${name}: CPU per message, bare smtp-server`,
        'ms',
        each(index, ({ bare }) => bare.cpuMs),
      ),
    ]),
    tables: [],
    plots: [],
  };
}

function describe({ ours, bare }: Round): string {
  const text = ({ cpuMs, perSecond }: Cost): string =>
    `${perSecond.toFixed(1)}/s at ${cpuMs.toFixed(2)} ms of CPU`;
  return `${text(ours)}; bare ${text(bare)}`;
}
