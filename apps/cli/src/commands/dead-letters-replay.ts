import type { DeadLetterFilter } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { reasonOption, sinceOption, typeOption, untilOption } from '../dead-letter-options.ts';
import { UsageError } from '../failure.ts';
import { optionalId, requireAccount, requireId, requireWebhook } from '../ids.ts';
import type { Io } from '../io.ts';
import { recoveryOptions } from '../recovery-options.ts';
import { countAll, countNamed, recoveryOf, replayAll, replayNamed } from '../replay-dead-letters.ts';
import type { Replaying } from '../replay-dead-letters.ts';
import { runRecovery, stopRecovery } from '../run-recovery.ts';
import { withDatabase } from '../session.ts';

interface Options extends DeadLetterFilter, ActorOptions {
  readonly account?: string;
  readonly all?: true;
  readonly webhook?: string;
  readonly dryRun?: true;
  readonly rate?: number;
  readonly stop?: true;
  readonly json?: true;
}

type Act = (replaying: Replaying) => Promise<void>;

const ONLY_WITH_ALL = ['webhook', 'type', 'reason', 'since', 'until', 'rate'] as const;
const NEVER_WITH_STOP = ['all', 'type', 'reason', 'since', 'until', 'rate', 'dryRun'] as const;

/** `dead-letters replay`: queues events again, each with a new set of attempts: at once, or at a rate. */
export function addDeadLettersReplay(deadLetters: Command, io: Io): void {
  withActor(deadLetters.command('replay'))
    .description('queue the events of dead letters again: at once, or with --rate behind fresh ones')
    .argument('[id...]', 'dead letters, dl_…')
    .option('--account <id>', 'only those of this account')
    .option('--all', 'all dead letters of --webhook')
    .option('--webhook <id>', 'the webhook of --all')
    .addOption(typeOption())
    .addOption(reasonOption())
    .addOption(sinceOption('made'))
    .addOption(untilOption('made'))
    .addOption(recoveryOptions.rate('without it, at once'))
    .addOption(recoveryOptions.dryRun())
    .addOption(recoveryOptions.stop())
    .action(async (ids: string[], options: Options) => {
      const accountId = optionalId('account', options.account);
      const act = parseAct(ids, options);
      await withDatabase(
        io,
        async ({ database }) => {
          if (accountId !== undefined) await requireAccount(database, io, accountId);
          await act({ io, database, accountId, by: actorOf(io, options), json: options.json });
        },
        { indexesOnly: true },
      );
    });
}

/** Reads ids, `--all --webhook ID`, or `--stop --webhook ID`. @throws UsageError for none and for several. */
function parseAct(ids: readonly string[], options: Options): Act {
  if (options.stop === true) return parseStop(ids, options);
  if (options.all === true) return parseAll(ids, options);
  if (ids.length === 0) throw new UsageError('name dead letters, or --all with --webhook');
  const stray = ONLY_WITH_ALL.find((name) => options[name] !== undefined);
  if (stray !== undefined) throw new UsageError(`--${stray} goes with --all`);
  const named = [...new Set(ids.map((id) => requireId('deadLetter', id)))];
  return async (replaying) =>
    options.dryRun === true ? countNamed(replaying, named) : replayNamed(replaying, named);
}

function parseStop(ids: readonly string[], options: Options): Act {
  if (ids.length > 0 || NEVER_WITH_STOP.some((name) => options[name] !== undefined))
    throw new UsageError('--stop goes with --webhook alone');
  if (options.webhook === undefined) throw new UsageError('--stop needs --webhook');
  const id = requireId('webhook', options.webhook);
  return async ({ io, database, accountId, ...how }) =>
    stopRecovery(io, database, await requireWebhook(database, id, accountId), how);
}

function parseAll(ids: readonly string[], options: Options): Act {
  if (ids.length > 0) throw new UsageError('name dead letters or use --all, not both');
  const { type, reason, since, until, rate, dryRun, account } = options;
  const filter = { type, reason, since, until };
  const id = optionalId('webhook', options.webhook);
  if (dryRun === true && (id !== undefined || account !== undefined))
    return async (replaying) => countAll(replaying, id, { filter, rate });
  if (id === undefined) throw new UsageError('--all needs --webhook; --all --account only with --dry-run');
  return async (replaying) => {
    const { io, database, accountId, ...how } = replaying;
    const webhook = await requireWebhook(database, id, accountId);
    if (rate === undefined) return replayAll(replaying, webhook, filter);
    return runRecovery(io, database, webhook, { ...recoveryOf(filter), rate }, how);
  };
}
