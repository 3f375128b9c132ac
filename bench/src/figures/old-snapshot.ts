import { fetchMetrics, holdingSnapshot, quantile } from '@postrider/testing';
import type { AccountId } from '@postrider/domain';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture, Outcome } from '../figure.ts';
import type { BenchDatabase } from '../fixture/cluster.ts';
import { latenessMs, measureLoads } from '../load/steady-load.ts';
import type { Ends } from '../load/steady-load.ts';
import { checkOf, valueOf } from '../result/result.ts';
import { FULL } from '../sizes.ts';

const CALLER_CONNECTIONS = 8;
const WEBHOOKS = 4;
const DEAD_AT_ONCE = 5_000;
const PASS_SECONDS = 'postrider_relay_pass_duration_seconds_sum{pass="deliveries"}';
const PASS_COUNT = 'postrider_relay_pass_duration_seconds_count{pass="deliveries"}';

const { perSecond, seconds, dead } = FULL.oldSnapshot;

export const oldSnapshot: Figure = {
  id: 'old-snapshot',
  title: 'Behind an old snapshot',
  group: 'load',
  how:
    `A service records ${perSecond} events a second for ${WEBHOOKS} accounts with a webhook each, for ${seconds} seconds a round: first ` +
    `without a snapshot, then with one that is held while ${dead.toLocaleString('en')} deliveries of the same webhooks come and go, in ` +
    'transactions of 5,000, and after a round that does not count: no relay has delivered these, so the first claim for a ' +
    'webhook reads them, once. The times are the relay’s own measurements of its delivery pass: each run is a claim.',
  limitSeconds: 420,
  async run(fixture) {
    const { process: receiver, origins } = await fixture.receiver();
    const installation = await fixture.install();
    const accounts: AccountId[] = [];
    for (let made = 0; made < WEBHOOKS; made += 1) {
      const account = await installation.addAccount();
      accounts.push(account);
      await installation.addWebhooks(account, [`${origins[0] ?? ''}/at-once`]);
    }
    const relay = await installation.start('relay');
    await installation.start('worker');
    const prepared: Prepared = {
      receiver,
      accounts,
      relayPort: relay.port,
      caller: fixture.caller(installation, CALLER_CONNECTIONS),
    };
    await oneRound(fixture, prepared); // warms up
    const without = await measuredRounds(fixture, prepared, 'without a snapshot');
    const { database } = installation;
    const held = await holdingSnapshot(database, async () => {
      await comeAndGo(database, fixture.sizes.oldSnapshot.dead);
      fixture.say('they have come and gone');
      await oneRound(fixture, prepared);
      return measuredRounds(fixture, prepared, 'with the snapshot');
    });
    return measurement(without, held);
  },
};

interface Prepared extends Ends {
  readonly accounts: readonly AccountId[];
  readonly relayPort: number;
}

/** The mean milliseconds per claim, and the p99 from commit to arrival. */
interface Round {
  readonly claimMs: number;
  readonly p99Ms: number;
}

async function measuredRounds(fixture: Fixture, prepared: Prepared, name: string): Promise<Round[]> {
  const said = { rounds: fixture.rounds, say: (line: string) => fixture.say(`${name}, ${line}`) };
  return measureRounds(
    said,
    () => oneRound(fixture, prepared),
    ({ claimMs }) => `claim ${claimMs.toFixed(2)} ms`,
  );
}

async function oneRound({ sizes }: Fixture, prepared: Prepared): Promise<Round> {
  const before = await passTimes(prepared.relayPort);
  const load = { accountIds: prepared.accounts, ...sizes.oldSnapshot };
  const [arrivals = []] = await measureLoads(prepared, [load]);
  const after = await passTimes(prepared.relayPort);
  return {
    claimMs: ((after.seconds - before.seconds) / (after.count - before.count)) * 1_000,
    p99Ms: quantile(arrivals.map(latenessMs), 0.99),
  };
}

async function passTimes(port: number) {
  const page = await fetchMetrics(port);
  return { seconds: page.read(PASS_SECONDS), count: page.read(PASS_COUNT) };
}

/**
 * Makes and removes each delivery in one transaction, so that no relay claims it. It leaves the same index
 * entries.
 */
async function comeAndGo(database: BenchDatabase, count: number): Promise<void> {
  for (let left = count; left > 0; left -= DEAD_AT_ONCE) {
    await database.query(
      `do $$ begin
         insert into deliveries (event_id, webhook_id)
         select 'evt_gone', w.id from webhooks w, generate_series(1, ${Math.ceil(Math.min(left, DEAD_AT_ONCE) / WEBHOOKS)});
         delete from deliveries where event_id = 'evt_gone';
       end $$`,
    );
  }
}

function measurement(without: readonly Round[], held: readonly Round[]): Outcome {
  const ms = (which: readonly Round[]): number[] => which.map(({ claimMs }) => claimMs);
  const ratios = held.map(({ claimMs }, index) => claimMs / (without[index]?.claimMs ?? Number.NaN));
  const p99 = (which: readonly Round[]): number[] => which.map(({ p99Ms }) => p99Ms);
  return {
    checks: [checkOf('a claim, with the snapshot against without', '×', ratios, { atMost: 2 })],
    values: [
      valueOf('claim, without', 'ms', ms(without)),
      valueOf('claim, with the snapshot', 'ms', ms(held)),
      valueOf('commit to arrival, p99, without', 'ms', p99(without)),
      valueOf('commit to arrival, p99, with the snapshot', 'ms', p99(held)),
    ],
  };
}
