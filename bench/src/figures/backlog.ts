import type { WebhookId } from '@postrider/domain';
import { fetchMetrics, median } from '@postrider/testing';
import type { Figure, Fixture } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { drainBurst } from '../load/drain-burst.ts';
import { queueBacklog } from '../load/queue-backlog.ts';
import { checkOf, valueOf } from '../result/result.ts';
import type { Measurement } from '../result/result.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';

/** The relay's metrics of its delivery passes and of claimed rows. */
const ROUNDS_SECONDS = 'postrider_relay_pass_duration_seconds_sum{pass="deliveries"}';
const NEWS_SECONDS = 'postrider_relay_pass_duration_seconds_sum{pass="news"}';
const PASSES = 'postrider_relay_pass_duration_seconds_count{pass="deliveries"}';
const CLAIMED_ROWS = 'postrider_relay_claimed_rows_sum{kind="delivery"}';
const IDLE_MS = 2_000;

export const backlog: Figure = {
  id: 'backlog',
  title: 'A million deliveries outstanding',
  group: 'load',
  how:
    'Two installations on the same Postgres: one with an empty table, one with the backlog, due in an hour and later, ' +
    'spread over many webhooks, the measured endpoint among them. In turn, each drains bursts of fresh events with a ' +
    'relay and a worker that have just been started and warmed up. The claim pass is the relay’s own measurement of its ' +
    'turns (scan, claim, hand to the queue), for each delivery it claimed; its speed is judged, so that above 1 is ' +
    'faster than on an empty table.',
  limitSeconds: 600,
  async run(fixture) {
    const { process: receiver, origins } = await fixture.receiver();
    const endpoint = `${origins[0] ?? ''}/at-once`;
    const empty = await prepare(fixture, receiver, endpoint);
    const full = await prepare(fixture, receiver, endpoint);
    const { backlog: count, backlogWebhooks } = fixture.sizes;
    const others = await full.installation.addWebhooks(
      await full.installation.addAccount(),
      Array.from({ length: backlogWebhooks - 1 }, () => endpoint),
    );
    await queueBacklog(full.installation.database, [...full.webhooks, ...others], {
      count,
      fromSeconds: 3_600,
      toSeconds: 7_200,
    });
    fixture.say(`${count} deliveries are outstanding for ${backlogWebhooks} webhooks`);
    const rounds: { empty: Drained; full: Drained }[] = [];
    for (let round = 1; round <= fixture.rounds; round += 1) {
      rounds.push({ empty: await drainOnce(fixture, empty), full: await drainOnce(fixture, full) });
      fixture.say(`round ${round} of ${fixture.rounds}: ${describe(rounds.at(-1))}`);
    }
    return measurement(rounds, count);
  },
};

interface Prepared {
  readonly installation: Installation;
  readonly receiver: RoleProcess<ReceiverCommands>;
  readonly webhooks: readonly WebhookId[];
}

interface Drained {
  readonly perSecond: number;
  /** Microseconds of the relay's passes per claimed delivery. */
  readonly passMicros: number;
  /** Milliseconds of a pass when nothing is due. */
  readonly idlePassMs: number;
}

async function prepare(
  fixture: Fixture,
  receiver: RoleProcess<ReceiverCommands>,
  endpoint: string,
): Promise<Prepared> {
  const installation = await fixture.install();
  const webhooks = await installation.addWebhooks(await installation.addAccount(), [endpoint]);
  return { installation, receiver, webhooks };
}

async function drainOnce(fixture: Fixture, prepared: Prepared): Promise<Drained> {
  const { installation, receiver, webhooks } = prepared;
  const relay = await installation.start('relay');
  await installation.start('worker');
  const { burst } = fixture.sizes;
  await drainBurst(fixture, installation, receiver, { webhooks, count: Math.ceil(burst / 10) });

  const read = async () => {
    const page = await fetchMetrics(relay.port);
    const seconds = page.read(ROUNDS_SECONDS) + page.read(NEWS_SECONDS);
    return { seconds, passes: page.read(PASSES), rows: page.read(CLAIMED_ROWS) };
  };
  const before = await read();
  const { seconds } = await drainBurst(fixture, installation, receiver, { webhooks, count: burst });
  const drained = await read();
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const idle = await read();
  await installation.stopAll('gently');
  return {
    perSecond: burst / seconds,
    passMicros: ((drained.seconds - before.seconds) / (drained.rows - before.rows)) * 1e6,
    idlePassMs: ((idle.seconds - drained.seconds) / (idle.passes - drained.passes)) * 1e3,
  };
}

function measurement(
  rounds: readonly { readonly empty: Drained; readonly full: Drained }[],
  count: number,
): Measurement {
  const of = (which: 'empty' | 'full', what: keyof Drained): number[] =>
    rounds.map((round) => round[which][what]);
  const emptyName = 'empty table';
  const fullName = `${count.toLocaleString('en')} outstanding`;
  return {
    checks: [
      checkOf(
        'speed of the claim pass, against an empty table',
        '×',
        rounds.map(({ empty, full }) => empty.passMicros / full.passMicros),
        { atLeast: 0.9 },
      ),
      checkOf(
        'drain rate, against an empty table',
        '×',
        rounds.map(({ empty, full }) => full.perSecond / empty.perSecond),
        { atLeast: 0.9 },
      ),
    ],
    values: [
      valueOf(`deliveries, ${emptyName}`, '/s', of('empty', 'perSecond')),
      valueOf(`deliveries, ${fullName}`, '/s', of('full', 'perSecond')),
      valueOf(`claim pass per delivery, ${emptyName}`, 'µs', of('empty', 'passMicros')),
      valueOf(`claim pass per delivery, ${fullName}`, 'µs', of('full', 'passMicros')),
      valueOf(`a turn with nothing due, ${emptyName}`, 'ms', of('empty', 'idlePassMs')),
      valueOf(`a turn with nothing due, ${fullName}`, 'ms', of('full', 'idlePassMs')),
    ],
    tables: [],
    plots: [
      {
        kind: 'bars',
        stacked: false,
        id: 'backlog',
        title: 'Drain of fresh events (median)',
        xLabel: '',
        yLabel: 'deliveries per second',
        categories: [emptyName, fullName],
        series: [
          {
            name: 'deliveries per second',
            values: [median(of('empty', 'perSecond')), median(of('full', 'perSecond'))],
          },
        ],
      },
    ],
  };
}

function describe(round: { readonly empty: Drained; readonly full: Drained } | undefined): string {
  const text = (drained: Drained | undefined): string =>
    `${(drained?.perSecond ?? 0).toFixed(0)}/s, ${(drained?.passMicros ?? 0).toFixed(0)} µs of the pass each`;
  return `empty ${text(round?.empty)}; with the backlog ${text(round?.full)}`;
}
