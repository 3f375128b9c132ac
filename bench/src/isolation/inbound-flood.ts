import { setTimeout as delay } from 'node:timers/promises';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import { quantile } from '@postrider/testing';
import { measureArrivals } from '../load/arrival-times.ts';
import { watchCores } from '../load/core-use.ts';
import { withInboundFixture } from '../load/inbound-fixture.ts';
import type { InboundFixture } from '../load/inbound-fixture.ts';
import { floodIncoming } from '../load/incoming-mail.ts';
import { startAnew, warmUp } from '../load/start-anew.ts';
import { installWithEndpoint } from '../load/one-endpoint.ts';
import { monotonicMs } from '../monotonic.ts';
import { judging } from '../result/result.ts';
import { FULL } from '../sizes.ts';

const CALLER_CONNECTIONS = 8;
const MAIL_CONNECTIONS = 8;
/** The largest message that the product accepts. */
const MAIL_BYTES = 10 * 1024 * 1024;

interface Round {
  /** The p99 of the healthy endpoint, in milliseconds. */
  readonly alone: number;
  readonly beside: number;
  readonly messagesPerSecond: number;
  /** Busy share of the cores, 0 to 1. */
  readonly coresBusy: number;
}

export const inboundFlood: Figure = {
  id: 'inbound-flood',
  title: 'Beside a flood of the largest messages',
  group: 'isolation',
  how:
    `Messages of 10 MiB, each with an attachment of its own, come in over ${MAIL_CONNECTIONS} connections, each from ` +
    'an address of its own, as fast as they are taken. ' +
    `A healthy endpoint of another account gets ${FULL.eventsPerSecond} events a second, a transaction each; its p99 from commit to ` +
    'arrival is taken alone and beside the flood, in turn. Every run begins with empty tables, an empty Redis, and a relay ' +
    'and a worker that have just been started and warmed up.',
  limitSeconds: 300,
  run: (fixture) => withInboundFixture((mail) => measure(fixture, mail)),
};

async function measure(fixture: Fixture, mail: InboundFixture): Promise<Outcome> {
  const { receiver, origins, installation, accountId, webhooks } = await installWithEndpoint(fixture);
  const flooder = await installation.addAccount();
  await installation.addWebhooks(flooder, [`${origins[1] ?? ''}/at-once`]);
  const to = await mail.addInbox(installation, flooder);
  const { eventsPerSecond: perSecond, isolation } = fixture.sizes;
  const caller = fixture.caller(installation, CALLER_CONNECTIONS);
  const load = (seconds: number) => measureArrivals({ receiver, caller, accountId, perSecond, seconds });

  async function oneRun(
    where: 'alone' | 'beside it',
  ): Promise<Omit<Round, 'alone' | 'beside'> & { p99: number }> {
    await startAnew(installation);
    await warmUp(installation, webhooks, load);
    const flood =
      where === 'beside it'
        ? floodIncoming(
            { port: (await mail.start(installation)).port, to, bytes: MAIL_BYTES },
            MAIL_CONNECTIONS,
          )
        : null;
    const begunAtMs = monotonicMs();
    await delay(isolation.leadInSeconds * 1000);
    const busyShare = watchCores();
    const { sinceCommit } = await load(isolation.seconds);
    const coresBusy = busyShare();
    const { sent } = (await flood?.stop()) ?? { sent: 0 };
    const messagesPerSecond = (sent * 1000) / (monotonicMs() - begunAtMs);
    await installation.stopAll('at once');
    return { p99: quantile(sinceCommit, 0.99), messagesPerSecond, coresBusy };
  }

  const oneRound = async (): Promise<Round> => {
    const { p99: alone } = await oneRun('alone');
    const { p99: beside, ...rest } = await oneRun('beside it');
    return { alone, beside, ...rest };
  };
  return measurement(await measureRounds(fixture, oneRound, describe));
}

function measurement(rounds: readonly Round[]): Outcome {
  const { check, value } = judging(rounds);
  return {
    checks: [
      check('p99 beside it, against p99 alone', '×', { atMost: 2 }, ({ alone, beside }) => beside / alone),
    ],
    values: [
      value('p99 alone', 'ms', ({ alone }) => alone),
      value('p99 beside it', 'ms', ({ beside }) => beside),
      value('messages', '/s', ({ messagesPerSecond }) => messagesPerSecond),
      value('cores busy beside it', '%', ({ coresBusy }) => coresBusy * 100),
    ],
  };
}

function describe({ alone, beside, messagesPerSecond, coresBusy }: Round): string {
  return (
    `p99 ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside ${messagesPerSecond.toFixed(1)} messages/s; ` +
    `${(coresBusy * 100).toFixed(0)} % of the cores busy`
  );
}
