import { createAccountStore } from '@postrider/store';
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { jsonOption, printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

const NAME_MAX_LENGTH = 200;

/** `account create`: makes an account, which owns keys, webhooks and mail. */
export function addAccountCreate(account: Command, io: Io): void {
  account
    .command('create')
    .description('make an account')
    .requiredOption('--name <name>', 'what the operator calls it; it need not be unique', parseName)
    .addOption(jsonOption())
    .action(async ({ name, json }: { name: string; json?: true }) => {
      await withDatabase(io, async ({ database }) => {
        const { id } = await createAccountStore(database, io.clock).create(name);
        printAnswer(io, json, { id, name }, [`made account ${id} (${name})`]);
      });
    });
}

function parseName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > NAME_MAX_LENGTH) {
    throw new InvalidArgumentError(`A name has 1 to ${NAME_MAX_LENGTH} characters.`);
  }
  // Postgres stores every character except NUL.
  if (name.includes('\0')) throw new InvalidArgumentError('A name holds no NUL character.');
  return name;
}
