import type { AccountId } from '@postrider/domain';
import { suspendAccount } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/**
 * `account suspend`: once it returns, every API process answers 403. A second suspension keeps the time of
 * the first.
 */
export function addAccountSuspend(account: Command, io: Io): void {
  addSuspension(account, io, {
    name: 'suspend',
    description:
      'refuse the requests of an account and hold its mail until `account resume`; takes a second. Deliveries and received mail go on',
    at: () => io.clock.now(),
    done: (id) => `suspended ${id}: the API refuses its keys, and its mail is held`,
  });
}

/** `account resume`: once it returns, every API process serves the account's keys again. */
export function addAccountResume(account: Command, io: Io): void {
  addSuspension(account, io, {
    name: 'resume',
    description: 'serve the requests of a suspended account again; takes a second',
    at: () => null,
    done: (id) => `${id} is served again`,
  });
}

interface Suspension {
  readonly name: string;
  readonly description: string;
  /** The time of the suspension. null: the account is resumed. */
  readonly at: () => Date | null;
  readonly done: (id: AccountId) => string;
}

function addSuspension(account: Command, io: Io, { name, description, at, done }: Suspension): void {
  withActor(account.command(name))
    .description(description)
    .argument('<id>', "the account's id, acct_…")
    .action(async (text: string, options: ActorOptions & { json?: true }) => {
      const id = requireId('account', text);
      await withDatabase(io, async ({ database }) => {
        const state = await suspendAccount(database, id, at(), actorOf(io, options));
        if (state === null) throw new Failure(`no account ${id}`);
        const document = { id, suspended_at: state.suspendedAt?.toISOString() ?? null };
        printAnswer(io, options.json, document, [done(id)]);
      });
    });
}
