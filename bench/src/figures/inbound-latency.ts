import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { quantile, quantilesInWords } from '@postrider/testing';
import { withInboundFixture } from '../load/inbound-fixture.ts';
import type { InboundFixture } from '../load/inbound-fixture.ts';
import { paceIncoming } from '../load/incoming-mail.ts';
import type { AcceptedMail, MailTarget } from '../load/incoming-mail.ts';
import { installWithEndpoint } from '../load/one-endpoint.ts';
import { judging } from '../result/result.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';
import { FULL } from '../sizes.ts';

const BYTES = 20_000;
const WARM_UP_SECONDS = 4;
const ARRIVED_WITHIN_MS = 60_000;

interface Round {
  /** From the end of DATA until the endpoint has the whole body. */
  readonly arrivedMs: readonly number[];
  /** From the end of DATA to the 250. */
  readonly acceptedMs: readonly number[];
  /** The same at the yardstick. */
  readonly bareMs: readonly number[];
}

export const inboundLatency: Figure = {
  id: 'inbound-latency',
  title: `DATA to webhook at ${FULL.inbound.perSecond} messages a second`,
  group: 'load',
  how:
    `With inbound, relay and worker running, ${FULL.inbound.perSecond} messages of 20 KB a second come in, in an open loop, after ` +
    'some seconds of the same to warm up. Measured is the time from the moment the last byte of a message was written until ' +
    'the receiver has the whole body of its `message.received`. The yardstick is a bare `smtp-server` at the same rate: from ' +
    'the last byte to its 250.',
  limitSeconds: 240,
  run: (fixture) => withInboundFixture((mail) => measure(fixture, mail)),
};

async function measure(fixture: Fixture, mail: InboundFixture): Promise<Outcome> {
  const { receiver, installation, accountId } = await installWithEndpoint(fixture);
  const to = await mail.addInbox(installation, accountId);
  for (const name of ['relay', 'worker'] as const) await installation.start(name);
  const { port } = await mail.start(installation);
  const barePort = await fixture.bareSmtp().call('listen', null);
  const { perSecond, seconds } = fixture.sizes.inbound;
  const ours = (forSeconds: number): Promise<Omit<Round, 'bareMs'>> =>
    arrivals({ installation, receiver }, { port, to, bytes: BYTES }, { perSecond, seconds: forSeconds });
  const bareTarget: MailTarget = { port: barePort, to, bytes: BYTES };
  const bare = async (forSeconds: number): Promise<number[]> => {
    const accepted = await paceIncoming(bareTarget, { perSecond, seconds: forSeconds });
    return accepted.map(acceptedMs);
  };
  await bare(1);
  await ours(Math.min(WARM_UP_SECONDS, seconds));

  const oneRound = async (): Promise<Round> => ({ bareMs: await bare(seconds), ...(await ours(seconds)) });
  return measurement(await measureRounds(fixture, oneRound, describe));
}

const acceptedMs = ({ endedAtMs, acceptedAtMs }: AcceptedMail): number => acceptedAtMs - endedAtMs;

/** @throws Error when a message's event does not arrive */
async function arrivals(
  { installation, receiver }: { installation: Installation; receiver: RoleProcess<ReceiverCommands> },
  target: MailTarget,
  rate: { readonly perSecond: number; readonly seconds: number },
): Promise<Omit<Round, 'bareMs'>> {
  await receiver.call('reset', null);
  const accepted = await paceIncoming(target, rate);
  const events = await eventsOf(
    installation,
    accepted.map(({ id }) => id),
  );
  await receiver.call('arrived', { ids: [...events.values()], withinMs: ARRIVED_WITHIN_MS });
  const arrivedAt = new Map(await receiver.call('arrivals', null));
  return {
    arrivedMs: accepted.map(
      ({ id, endedAtMs }) => (arrivedAt.get(events.get(id) ?? '') ?? Number.NaN) - endedAtMs,
    ),
    acceptedMs: accepted.map(acceptedMs),
  };
}

/** @returns the event per message, by `Message-ID` */
async function eventsOf({ database }: Installation, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await database.query<{ header: string; event: string }>(
    `select m.message_id as header, e.id as event
     from messages m join events e on e.data::json ->> 'id' = m.id where m.message_id = any ($1)`,
    [ids],
  );
  if (rows.length !== ids.length) throw new Error(`${rows.length} events for ${ids.length} messages`);
  return new Map(rows.map(({ header, event }) => [header, event]));
}

function measurement(rounds: readonly Round[]): Outcome {
  const { check, value } = judging(rounds);
  return {
    checks: [
      check('end of DATA to arrival, p50', 'ms', { atMost: 100 }, ({ arrivedMs }) =>
        quantile(arrivedMs, 0.5),
      ),
      check('end of DATA to arrival, p99', 'ms', { atMost: 500 }, ({ arrivedMs }) =>
        quantile(arrivedMs, 0.99),
      ),
    ],
    values: [
      value('end of DATA to 250, p50', 'ms', (round) => quantile(round.acceptedMs, 0.5)),
      value('end of DATA to 250, p99', 'ms', (round) => quantile(round.acceptedMs, 0.99)),
      value('bare smtp-server, end of DATA to 250, p50', 'ms', ({ bareMs }) => quantile(bareMs, 0.5)),
      value('bare smtp-server, end of DATA to 250, p99', 'ms', ({ bareMs }) => quantile(bareMs, 0.99)),
    ],
  };
}

function describe({ arrivedMs, acceptedMs: accepted, bareMs }: Round): string {
  const [arrived, ours, bare] = [arrivedMs, accepted, bareMs].map((times) => quantilesInWords(times));
  return `arrived ${arrived}; taken ${ours}; bare ${bare}`;
}
