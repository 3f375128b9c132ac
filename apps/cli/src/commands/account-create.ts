import { createAccountStore } from '@postrider/store';
import type { Command } from 'commander';
import { noticeEmailOf, parseAccountName, parseNoticeEmail } from '../account-options.ts';
import type { Io } from '../io.ts';
import { jsonOption, printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

interface Options {
  readonly name: string;
  readonly noticeEmail?: string;
  readonly json?: true;
}

/** `account create`: makes an account, which owns keys, webhooks and mail. */
export function addAccountCreate(account: Command, io: Io): void {
  account
    .command('create')
    .description('make an account')
    .requiredOption('--name <name>', 'what the operator calls it; it need not be unique', parseAccountName)
    .option('--notice-email <address>', 'gets a mail when a webhook of the account fails', parseNoticeEmail)
    .addOption(jsonOption())
    .action(async ({ name, noticeEmail: option, json }: Options) => {
      const noticeEmail = option === undefined ? undefined : noticeEmailOf(option);
      await withDatabase(io, async ({ database }) => {
        const { id } = await createAccountStore(database, io.clock).create(name, noticeEmail);
        const notice = noticeEmail === undefined ? {} : { notice_email: noticeEmail };
        printAnswer(io, json, { id, name, ...notice }, [`made account ${id} (${name})`]);
      });
    });
}
