import { createAccountStore } from '@postrider/store';
import type { Command } from 'commander';
import { noticeEmailOf, parseAccountName, parseNoticeEmail } from '../account-options.ts';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure, UsageError } from '../failure.ts';
import { requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

interface Options extends ActorOptions {
  readonly name?: string;
  readonly noticeEmail?: string;
  readonly json?: true;
}

/** `account update`: changes the name of an account, and where mail about its failing webhooks goes. */
export function addAccountUpdate(account: Command, io: Io): void {
  withActor(account.command('update'))
    .description('change an account')
    .argument('<id>', "the account's id, acct_…")
    .option('--name <name>', 'what the operator calls it; it need not be unique', parseAccountName)
    .option(
      '--notice-email <address>',
      'gets a mail when a webhook of the account fails; `none`: nobody',
      parseNoticeEmail,
    )
    .action(async (text: string, options: Options) => {
      const { name: newName, noticeEmail: option, json } = options;
      const id = requireId('account', text);
      const change = {
        ...(newName === undefined ? {} : { name: newName }),
        ...(option === undefined ? {} : { noticeEmail: noticeEmailOf(option) }),
      };
      if (Object.keys(change).length === 0) throw new UsageError('give --name or --notice-email');
      await withDatabase(io, async ({ database }) => {
        const updated = await createAccountStore(database, io.clock).update(id, change, actorOf(io, options));
        if (updated === null) throw new Failure(`no account ${id}`);
        const { name, noticeEmail } = updated;
        printAnswer(io, json, { id, name, notice_email: noticeEmail }, [
          `${id}: ${name}`,
          `notices go to: ${noticeEmail ?? 'nobody'}`,
        ]);
      });
    });
}
