import { LIMITS, plainAddress } from '@postrider/domain';
import { createSuppressionStore } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { Failure, UsageError } from '../failure.ts';
import { requireAccount, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { oneLine } from '../one-line.ts';
import { printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

interface Options extends ActorOptions {
  readonly account: string;
  readonly address: string;
  readonly reason?: string;
  readonly json?: true;
}

/** `suppressions remove`: lets an account write to an address again. Suppressions for one topic stay. */
export function addSuppressionsRemove(suppressions: Command, io: Io): void {
  withActor(suppressions.command('remove'))
    .description('let an account write to an address again; what the recipient said about one topic stays')
    .requiredOption('--account <id>', 'the account')
    .requiredOption('--address <address>', 'the e-mail address, without a name')
    .option(
      '--reason <text>',
      'needed after a complaint, and kept only then; otherwise `--note`',
      parseReason,
    )
    .action(async (options: Options) => {
      const accountId = requireId('account', options.account);
      const address = plainAddress(options.address.trim());
      if (address === null) throw new UsageError(`"${options.address}" is not an e-mail address`);
      await withDatabase(io, async ({ database }) => {
        await requireAccount(database, io, accountId);
        const store = createSuppressionStore(database, io.clock);
        const by = actorOf(io, options);
        const removal = await store.remove(accountId, [{ address }], options.reason ?? null, by);
        if (removal.kind === 'reason-missing') {
          throw new Failure(`a complaint suppressed ${address}: give the --reason why it may get mail again`);
        }
        const [id] = removal.ids;
        if (id === undefined) throw new Failure(`${accountId} does not suppress ${address}`);
        printAnswer(io, options.json, { id, account: accountId, address }, [
          `removed ${id}: ${accountId} may write to ${address} again`,
        ]);
      });
    });
}

function parseReason(text: string): string {
  return oneLine(text, LIMITS.suppressionReasonLength, 'reason');
}
