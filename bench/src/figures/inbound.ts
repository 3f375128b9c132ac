import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import { withInboundFixture } from '../load/inbound-fixture.ts';
import type { InboundFixture } from '../load/inbound-fixture.ts';
import { sendIncoming } from '../load/incoming-mail.ts';
import { servingCost } from '../load/serving-cost.ts';
import type { ServingCost } from '../load/serving-cost.ts';
import { judging } from '../result/result.ts';
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

/** The costs of a message. */
interface Costs {
  readonly ours: ServingCost;
  readonly bare: ServingCost;
}

/** By the name of the kind. */
type Round = Readonly<Record<string, Costs>>;

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

async function measure(fixture: Fixture, mail: InboundFixture): Promise<Outcome> {
  const installation = await fixture.install();
  const to = await mail.addInbox(installation, await installation.addAccount());
  const ours = await mail.start(installation);
  const bare = fixture.bareSmtp();
  const barePort = await bare.call('listen', null);
  const oneRound = async (): Promise<Round> => {
    const round: Record<string, Costs> = {};
    for (const kind of KINDS) {
      const count = kind.count(fixture.sizes);
      const load = (port: number, pid: number): Promise<ServingCost> =>
        servingCost(pid, count, () => sendIncoming({ port, to, bytes: kind.bytes }, count, CONNECTIONS));
      round[kind.name] = { bare: await load(barePort, bare.pid), ours: await load(ours.port, ours.pid) };
    }
    return round;
  };
  await oneRound(); // warm-up
  return measurement(await measureRounds(fixture, oneRound, describe));
}

function measurement(rounds: readonly Round[]): Outcome {
  const byKind = KINDS.map((kind) => ({
    ...kind,
    ...judging(rounds.flatMap((round) => round[kind.name] ?? [])),
  }));
  return {
    checks: byKind.map(({ name, cpuTimesAtMost, check }) =>
      check(
        `${name}: CPU of the inbound process per message, against the yardstick`,
        '×',
        { atMost: cpuTimesAtMost },
        ({ ours, bare }) => ours.cpuMs / bare.cpuMs,
      ),
    ),
    values: byKind.flatMap(({ name, value }) => [
      value(`${name}: messages`, '/s', ({ ours }) => ours.perSecond),
      value(`${name}: messages, bare smtp-server`, '/s', ({ bare }) => bare.perSecond),
      value(`${name}: CPU per message`, 'ms', ({ ours }) => ours.cpuMs),
      value(`${name}: CPU per message, bare smtp-server`, 'ms', ({ bare }) => bare.cpuMs),
    ]),
  };
}

function describe(round: Round): string {
  const text = ({ cpuMs, perSecond }: ServingCost): string =>
    `${perSecond.toFixed(1)}/s at ${cpuMs.toFixed(2)} ms of CPU`;
  return Object.entries(round)
    .map(([name, { ours, bare }]) => `${name}: ${text(ours)}; bare ${text(bare)}`)
    .join('; ');
}
