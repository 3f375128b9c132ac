import type { AccountId, DeadLetterId } from '@postrider/domain';
import { createDeadLetterStore } from '@postrider/store';
import type { Database } from '@postrider/store';
import type { Command } from 'commander';
import { Failure, UsageError } from '../failure.ts';
import { requireAccount, requireId } from '../ids.ts';
import type { Io } from '../io.ts';
import { note, printJson, printLines } from '../print.ts';
import { withDatabase } from '../session.ts';

interface Options {
  readonly account: string;
  readonly all?: true;
  readonly webhook?: string;
  readonly json?: true;
}

type Page = readonly DeadLetterId[];

/** As many as the session has connections. */
const REPLAYS_AT_ONCE = 8;
const PROGRESS_EVERY = 1_000;

/** `dead-letters replay`: queues the events again at once, each with a fresh set of attempts. */
export function addDeadLettersReplay(deadLetters: Command, io: Io): void {
  deadLetters
    .command('replay')
    .description('queue the events of dead letters again')
    .argument('[id...]', 'dead letters, dl_…')
    .requiredOption('--account <id>', 'the account they belong to')
    .option('--all', 'all dead letters of --webhook')
    .option('--webhook <id>', 'the webhook of --all')
    .option('--json', 'print one JSON document')
    .action(async (ids: string[], options: Options) => {
      const accountId = requireId('account', options.account, 'an account');
      const pagesOf = parseSelection(ids, options, accountId, io);
      await withDatabase(io, async ({ database }) => {
        await requireAccount(database, io, accountId);
        const { replayed, missing } = await replay(database, accountId, pagesOf(database), io);
        if (options.json === true) printJson(io, { replayed, missing });
        else printLines(io, [`replayed ${replayed}`]);
        // Of `--all`, those that were gone before their turn came are nobody's fault.
        if (missing.length > 0 && options.all === undefined) {
          throw new Failure(`no dead letter with a webhook: ${missing.join(', ')}`);
        }
      });
    });
}

/** Either ids or `--all --webhook ID`. @throws UsageError for neither or both. */
function parseSelection(
  ids: readonly string[],
  options: Options,
  accountId: AccountId,
  io: Io,
): (database: Database) => AsyncIterable<Page> | Iterable<Page> {
  if (options.all === undefined) {
    if (ids.length === 0) throw new UsageError('name dead letters, or --all with --webhook');
    if (options.webhook !== undefined) throw new UsageError('--webhook goes with --all');
    const page = [...new Set(ids)].map((id) => requireId('deadLetter', id, 'a dead letter'));
    return () => [page];
  }
  if (ids.length > 0) throw new UsageError('name dead letters or use --all, not both');
  if (options.webhook === undefined) throw new UsageError('--all needs --webhook');
  const webhookId = requireId('webhook', options.webhook, 'a webhook');
  return (database) => createDeadLetterStore(database).idsOfWebhook(accountId, webhookId, io.clock.now());
}

async function replay(
  database: Database,
  accountId: AccountId,
  pages: AsyncIterable<Page> | Iterable<Page>,
  io: Io,
): Promise<{ replayed: number; missing: DeadLetterId[] }> {
  const store = createDeadLetterStore(database);
  const missing: DeadLetterId[] = [];
  let replayed = 0;
  const replayOne = async (id: DeadLetterId): Promise<void> => {
    if (!(await store.replay(accountId, id))) {
      missing.push(id);
      return;
    }
    replayed += 1;
    if (replayed % PROGRESS_EVERY === 0) note(io, `postrider: replayed ${replayed} so far`);
  };
  try {
    for await (const page of pages) {
      for (let start = 0; start < page.length; start += REPLAYS_AT_ONCE) {
        await Promise.all(page.slice(start, start + REPLAYS_AT_ONCE).map(replayOne));
      }
    }
  } catch (error) {
    if (replayed > 0) note(io, `postrider: replayed ${replayed}, then stopped`);
    throw error;
  }
  return { replayed, missing };
}
