import { plainAddress } from '@postrider/domain';
import { createErasureStore } from '@postrider/store';
import type { ErasureResult, ErasureStep } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { UsageError } from '../failure.ts';
import { requireAccount, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { note, printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

/**
 * When the command returns, the erasure is not finished: a relay ends it ten minutes later at the earliest.
 */
type ErasureReport = Omit<ErasureResult, 'finished'>;

const STEPS: Readonly<Record<ErasureStep, string>> = {
  'notice address removed': "the account's notice address is removed",
  'request stored': 'the request is stored: a relay goes on with it, also if this command stops',
};

interface Options extends ActorOptions {
  readonly address: string;
  readonly json?: true;
}

/**
 * `account erase`: removes a person's data. The suppressions of the address stay. A relay later removes the
 * data that outstanding work still uses.
 */
export function addAccountErase(account: Command, io: Io): void {
  withActor(account.command('erase'))
    .description('forget a person: mail, events and attempts that name an address')
    .argument('<id>', 'the account, acct_…')
    .requiredOption('--address <address>', 'the e-mail address, without a name; a +tag makes another one')
    .action(async (text: string, options: Options) => {
      const { address: written, json } = options;
      const accountId = requireId('account', text);
      const address = plainAddress(written.trim());
      if (address === null) throw new UsageError(`"${written}" is not an e-mail address`);
      await withDatabase(io, async ({ database }) => {
        await requireAccount(database, io, accountId);
        const erasures = createErasureStore(database.pool);
        const say = (step: ErasureStep) => note(io, `postrider: ${STEPS[step]}`);
        const result = await erasures.erase(accountId, address, actorOf(io, options), say);
        printAnswer(io, json, resultObject(address, result), resultInWords(address, result));
      });
    });
}

/** The result of an erasure as one document. */
export function resultObject(address: string, result: ErasureReport) {
  const { accountId, requestedAt, erased, pending, pendingIds } = result;
  return {
    account: accountId,
    address,
    requested_at: requestedAt.toISOString(),
    erased: {
      emails: erased.emails,
      messages: erased.messages,
      events: erased.events,
      attempts: erased.attempts,
      dead_letters: erased.deadLetters,
    },
    pending: {
      emails: pending.emails,
      messages: pending.messages,
      events: pending.events,
      dead_letters: pending.deadLetters,
      ses_mail: pending.sesMail,
    },
    pending_ids: pendingIds,
  };
}

/** The result of an erasure for a person. */
export function resultInWords(
  address: string,
  { requestedAt, erased, pending, pendingIds }: ErasureReport,
): string[] {
  const { emails, messages, events, attempts, deadLetters } = erased;
  return [
    `${address}: erased ${emails} emails, ${messages} received messages, ${events} events, ${attempts} attempts, ` +
      `${deadLetters} dead letters`,
    `pending: ${pending.emails} emails to be sent, ${pending.messages} messages in use, ${pending.events} events to be delivered, ` +
      `${pending.deadLetters} dead letters being replayed, ${pending.sesMail} messages of SES to be read`,
    ...(pendingIds.length === 0 ? [] : [`among them: ${pendingIds.join(', ')}`]),
    `requested at ${requestedAt.toISOString()}: a relay erases these when they have ended, and ends the request ten minutes after it ` +
      'or later',
  ];
}
