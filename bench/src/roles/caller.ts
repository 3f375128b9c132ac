import { recordEvent } from '@postrider/domain';
import type { AccountId, EventDraft } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { createWakeUps, openDatabase } from '@postrider/store';
import type { Transaction } from '@postrider/store';
import { inParallel } from '@postrider/testing';
import { monotonicMs } from '../monotonic.ts';
import { atSteadyRate } from './steady-rate.ts';

/** A recorded event, with the start of its transaction and the time of the known commit. */
export type Recorded = readonly [id: string, begunAtMs: number, committedAtMs: number];

export interface CallerCommands extends Record<string, (argument: never) => unknown> {
  /** Records events of these accounts, in turn, at a steady rate, one transaction per event. */
  readonly record: (wish: {
    readonly accountIds: readonly AccountId[];
    readonly perSecond: number;
    readonly seconds: number;
  }) => Promise<Recorded[]>;
  /** Records `count` events of these accounts, in turn, as fast as `concurrency` transactions allow. */
  readonly flood: (wish: {
    readonly accountIds: readonly AccountId[];
    readonly count: number;
    readonly concurrency: number;
  }) => Promise<Recorded[]>;
  /** Commits causes on `concurrency` connections. @returns commits per second */
  readonly commits: (wish: {
    readonly accountId: AccountId;
    readonly withEvent: boolean;
    readonly concurrency: number;
    readonly seconds: number;
  }) => Promise<number>;
}

/** A service that records events in its own transactions, with the product's code. */
export function callerCommands(databaseUrl: string, connections: number): CallerCommands {
  const connection = {
    databaseUrl,
    applicationName: 'bench-caller',
    onError: (error: Error) => process.stderr.write(`[bench] caller: ${error.message}\n`),
  };
  const database = openDatabase({ ...connection, size: connections }, createWakeUps(connection));

  const recordOne = async (accountId: AccountId): Promise<Recorded> => {
    const begunAtMs = monotonicMs();
    const id = await database.transactions.run((tx) => recordEvent(tx, draftFor(accountId), systemClock));
    return [id, begunAtMs, monotonicMs()];
  };

  return {
    record: ({ accountIds, ...rate }) => atSteadyRate(rate, (index) => recordOne(inTurn(accountIds, index))),
    async flood({ accountIds, count, concurrency }) {
      const recorded: Recorded[] = [];
      await inParallel({ count, concurrency }, async (index) => {
        recorded.push(await recordOne(inTurn(accountIds, index)));
      });
      return recorded;
    },
    async commits({ accountId, withEvent, concurrency, seconds }) {
      const begun = monotonicMs();
      const end = begun + seconds * 1000;
      let committed = 0;
      const commitUntilEnd = async (): Promise<void> => {
        while (monotonicMs() < end) {
          await database.transactions.run(async (tx) => {
            await writeCause(tx);
            if (withEvent) await recordEvent(tx, draftFor(accountId), systemClock);
          });
          committed += 1;
        }
      };
      await Promise.all(Array.from({ length: concurrency }, commitUntilEnd));
      return committed / ((monotonicMs() - begun) / 1000);
    },
  };
}

function inTurn(accountIds: readonly AccountId[], index: number): AccountId {
  const accountId = accountIds[index % accountIds.length];
  if (accountId === undefined) throw new Error('there is no account to record events of');
  return accountId;
}

/** The cause of an event: a row of about 300 bytes in the caller's table. */
async function writeCause({ client }: Transaction): Promise<void> {
  await client.$executeRaw`insert into bench_causes (body) values (${'x'.repeat(300)})`;
}

function draftFor(accountId: AccountId): EventDraft {
  return {
    type: 'email.sent',
    accountId,
    data: { email_id: 'em_bench', from: 'a@example.com', subject: 'x'.repeat(300), error: null },
  };
}
