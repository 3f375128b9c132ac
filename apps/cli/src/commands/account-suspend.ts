import { suspendAccount } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { jsonOption, printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/**
 * `account suspend`: from its return on, every API process answers 403. A suspended account keeps its first
 * time.
 */
export function addAccountSuspend(account: Command, io: Io): void {
  withActor(account.command('suspend'))
    .description(
      'refuse the requests of an account and hold its mail until `account resume`; takes a second. Deliveries and received mail go on',
    )
    .argument('<id>', "the account's id, acct_…")
    .addOption(jsonOption())
    .action(async (text: string, options: ActorOptions & { json?: true }) => {
      const id = requireId('account', text, 'an account');
      await withDatabase(io, async ({ database }) => {
        const state = await suspendAccount(database, id, io.clock.now(), actorOf(io, options));
        if (state === null) throw new Failure(`no account ${id}`);
        const document = { id, suspended_at: state.suspendedAt?.toISOString() ?? null };
        printAnswer(io, options.json, document, [
          `suspended ${id}: the API refuses its keys, and its mail is held`,
        ]);
      });
    });
}
