import type { WebhookId } from '@postrider/domain';
import { fetchMetrics, median } from '@postrider/testing';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { drainBurst } from '../load/drain-burst.ts';
import { queueBacklog } from '../load/queue-backlog.ts';
import { judging } from '../result/result.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';

/** The relay's metrics of its delivery pass and of claimed rows. */
const PASS_SECONDS = 'postrider_relay_pass_duration_seconds_sum{pass="deliveries"}';
const CLAIMED_ROWS = 'postrider_relay_claimed_rows_sum{kind="delivery"}';

export const backlog: Figure = {
  id: 'backlog',
  title: 'A million deliveries outstanding',
  group: 'load',
  how:
    'Two installations on the same Postgres: one with an empty table, one with the backlog, due in an hour and later, ' +
    'spread over many webhooks, the measured endpoint among them. In turn, each drains bursts of fresh events with a ' +
    'relay and a worker that have just been started and warmed up. The claim pass is the relay’s own measurement of its ' +
    'turns (claim, add to the queue), for each delivery it claimed; its speed is judged, so that above 1 is ' +
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
    const measure = async (): Promise<Round> => ({
      empty: await drainOnce(fixture, empty),
      full: await drainOnce(fixture, full),
    });
    return measurement(await measureRounds(fixture, measure, describe), count);
  },
};

interface Prepared {
  readonly installation: Installation;
  readonly receiver: RoleProcess<ReceiverCommands>;
  readonly webhooks: readonly WebhookId[];
}

interface Round {
  readonly empty: Drained;
  readonly full: Drained;
}

interface Drained {
  readonly perSecond: number;
  /** Microseconds of the relay's passes per claimed delivery. */
  readonly passMicros: number;
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
    return { seconds: page.read(PASS_SECONDS), rows: page.read(CLAIMED_ROWS) };
  };
  const before = await read();
  const { seconds } = await drainBurst(fixture, installation, receiver, { webhooks, count: burst });
  const drained = await read();
  await installation.stopAll('gently');
  return {
    perSecond: burst / seconds,
    passMicros: ((drained.seconds - before.seconds) / (drained.rows - before.rows)) * 1e6,
  };
}

function measurement(rounds: readonly Round[], count: number): Outcome {
  const { check, value } = judging(rounds);
  const emptyName = 'empty table';
  const fullName = `${count.toLocaleString('en')} outstanding`;
  return {
    checks: [
      check(
        'speed of the claim pass, against an empty table',
        '×',
        { atLeast: 0.9 },
        ({ empty, full }) => empty.passMicros / full.passMicros,
      ),
      check(
        'drain rate, against an empty table',
        '×',
        { atLeast: 0.9 },
        ({ empty, full }) => full.perSecond / empty.perSecond,
      ),
    ],
    values: [
      value(`deliveries, ${emptyName}`, '/s', ({ empty }) => empty.perSecond),
      value(`deliveries, ${fullName}`, '/s', ({ full }) => full.perSecond),
      value(`claim pass per delivery, ${emptyName}`, 'µs', ({ empty }) => empty.passMicros),
      value(`claim pass per delivery, ${fullName}`, 'µs', ({ full }) => full.passMicros),
    ],
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
            values: [
              median(rounds.map(({ empty }) => empty.perSecond)),
              median(rounds.map(({ full }) => full.perSecond)),
            ],
          },
        ],
      },
    ],
  };
}

function describe({ empty, full }: Round): string {
  const text = ({ perSecond, passMicros }: Drained): string =>
    `${perSecond.toFixed(0)}/s, ${passMicros.toFixed(0)} µs of the pass each`;
  return `empty ${text(empty)}; with the backlog ${text(full)}`;
}
