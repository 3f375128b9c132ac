import type { AccountId, DeadLetterId, WebhookId } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { createDeadLetterStore } from '@postrider/store';
import type { Actor, DeadLetterFilter, DeadLetterStore } from '@postrider/store';
import type { Command } from 'commander';
import { actorOf, withActor } from '../actor.ts';
import type { ActorOptions } from '../actor.ts';
import { reasonOption, sinceOption, typeOption, untilOption } from '../dead-letter-options.ts';
import { Failure, UsageError } from '../failure.ts';
import { requireAccount, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { jsonOption, note, printAnswer } from '../print.ts';
import { withDatabase } from '../session.ts';

interface Options extends DeadLetterFilter, ActorOptions {
  readonly account: string;
  readonly all?: true;
  readonly webhook?: string;
  readonly json?: true;
}

interface Replay {
  readonly replayed: number;
  readonly missing: readonly DeadLetterId[];
}

/** Replays the dead letters that the command line names. */
type Work = (store: DeadLetterStore, accountId: AccountId, by: Actor) => Promise<Replay>;

/** The number of connections of the session. */
const REPLAYS_AT_ONCE = 8;

/** `dead-letters replay`: queues events again at once, each with a new set of attempts. */
export function addDeadLettersReplay(deadLetters: Command, io: Io): void {
  withActor(deadLetters.command('replay'))
    .description('queue the events of dead letters again')
    .argument('[id...]', 'dead letters, dl_…')
    .requiredOption('--account <id>', 'the account they belong to')
    .option('--all', 'all dead letters of --webhook')
    .option('--webhook <id>', 'the webhook of --all')
    .addOption(typeOption())
    .addOption(reasonOption())
    .addOption(sinceOption())
    .addOption(untilOption())
    .addOption(jsonOption())
    .action(async (ids: string[], options: Options) => {
      const accountId = requireId('account', options.account, 'an account');
      const replay = parseWork(ids, options, io);
      await withDatabase(io, async ({ database }) => {
        await requireAccount(database, io, accountId);
        const { replayed, missing } = await replay(
          createDeadLetterStore(database),
          accountId,
          actorOf(io, options),
        );
        printAnswer(io, options.json, { replayed, missing }, [`replayed ${replayed}`]);
        if (missing.length > 0) throw new Failure(`no dead letter with a webhook: ${missing.join(', ')}`);
      });
    });
}

/** Reads ids, or `--all --webhook ID`. @throws UsageError for neither or both. */
function parseWork(ids: readonly string[], options: Options, io: Io): Work {
  if (options.all === undefined) {
    if (ids.length === 0) throw new UsageError('name dead letters, or --all with --webhook');
    const stray = (['webhook', 'type', 'reason', 'since', 'until'] as const).find(
      (name) => options[name] !== undefined,
    );
    if (stray !== undefined) throw new UsageError(`--${stray} goes with --all`);
    const named = [...new Set(ids)].map((id) => requireId('deadLetter', id, 'a dead letter'));
    return (store, accountId, by) => replayNamed(store, accountId, named, by);
  }
  if (ids.length > 0) throw new UsageError('name dead letters or use --all, not both');
  if (options.webhook === undefined) throw new UsageError('--all needs --webhook');
  const webhookId = requireId('webhook', options.webhook, 'a webhook');
  const { type, reason, since, until } = options;
  const filter = { webhookId, type, reason, since, until };
  return (store, accountId, by) => replayAll(store, accountId, filter, { io, by });
}

async function replayNamed(
  store: DeadLetterStore,
  accountId: AccountId,
  ids: readonly DeadLetterId[],
  by: Actor,
): Promise<Replay> {
  const slots = new Semaphore(REPLAYS_AT_ONCE);
  const replayed = await Promise.all(ids.map((id) => slots.run(() => store.replay(accountId, id, by))));
  const missing = ids.filter((_, index) => replayed[index] === false);
  return { replayed: ids.length - missing.length, missing };
}

/** Replays only what was dead at the start: an event that fails again at once would repeat forever. */
async function replayAll(
  store: DeadLetterStore,
  accountId: AccountId,
  filter: DeadLetterFilter & { readonly webhookId: WebhookId },
  { io, by }: { readonly io: Io; readonly by: Actor },
): Promise<Replay> {
  const before = io.clock.now();
  let replayed = 0;
  try {
    for (;;) {
      const outcome = await store.replayMatching(accountId, { ...filter, before }, by);
      // Only the webhook can be missing: `before` is a time, not a row.
      if (outcome.kind !== 'replayed') throw new Failure(`no webhook ${filter.webhookId}`);
      // Another command may have locked the rest, and replays them.
      if (outcome.replayed === 0) return { replayed, missing: [] };
      replayed += outcome.replayed;
      if (outcome.remaining === 0) return { replayed, missing: [] };
      note(io, `postrider: replayed ${replayed} so far`);
    }
  } catch (error) {
    if (replayed > 0) note(io, `postrider: replayed ${replayed}, then stopped`);
    throw error;
  }
}
