import { suspendAccount } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { jsonOption, printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/** `account resume`: from its return on, every API process serves the account's keys again. */
export function addAccountResume(account: Command, io: Io): void {
  withActor(account.command('resume'))
    .description('serve the requests of a suspended account again; takes a second')
    .argument('<id>', "the account's id, acct_…")
    .addOption(jsonOption())
    .action(async (text: string, options: ActorOptions & { json?: true }) => {
      const id = requireId('account', text, 'an account');
      await withDatabase(io, async ({ database }) => {
        const state = await suspendAccount(database, id, null, actorOf(io, options));
        if (state === null) throw new Failure(`no account ${id}`);
        const document = { id, suspended_at: state.suspendedAt?.toISOString() ?? null };
        printAnswer(io, options.json, document, [`${id} is served again`]);
      });
    });
}
