import { createAccountStore } from '@postrider/store';
import type { Command } from 'commander';
import { noticeEmailOf, parseAccountName, parseNoticeEmail } from '../account-options.ts';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import type { Io } from '../io.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

interface Options extends ActorOptions {
  readonly name: string;
  readonly noticeEmail?: string;
  readonly json?: true;
}

/** `account create`: makes an account, which owns keys, webhooks and mail. */
export function addAccountCreate(account: Command, io: Io): void {
  withActor(account.command('create'))
    .description('make an account')
    .requiredOption('--name <name>', 'what the operator calls it; it need not be unique', parseAccountName)
    .option('--notice-email <address>', 'gets a mail when a webhook of the account fails', parseNoticeEmail)
    .action(async (options: Options) => {
      const { name, noticeEmail: option, json } = options;
      const noticeEmail = option === undefined ? undefined : noticeEmailOf(option);
      await withDatabase(io, async ({ database }) => {
        const accounts = createAccountStore(database, io.clock);
        const { id } = await accounts.create(name, noticeEmail, actorOf(io, options));
        const notice = noticeEmail === undefined ? {} : { notice_email: noticeEmail };
        printAnswer(io, json, { id, name, ...notice }, [`made account ${id} (${name})`]);
      });
    });
}
