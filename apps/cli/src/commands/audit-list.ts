import { isDeepStrictEqual } from 'node:util';
import { AUDIT_ACTIONS, listAudit } from '@postrider/store';
import type { AuditAction, ListedAuditEntry } from '@postrider/store';
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { parseTime } from '../dead-letter-options.ts';
import { Failure } from '../failure.ts';
import { optionalId } from '../ids.ts';
import type { Io } from '../io.ts';
import { LISTED_MAX, noteMore, printList } from '../print.ts';
import { countInWords } from '../recovery-object.ts';
import { withDatabase } from '../session.ts';

const HEAD = ['ID', 'WHEN', 'WHO', 'ACTION', 'TARGET', 'COUNT', 'CHANGE OR NOTE'];

interface Options {
  readonly account?: string;
  readonly who?: string;
  readonly action?: AuditAction;
  readonly target?: string;
  readonly since?: Date;
  readonly after?: number;
  readonly json?: true;
}

/** `audit list`: shows who did what. */
export function addAuditList(audit: Command, io: Io): void {
  audit
    .command('list')
    .description(`who did what: the newest ${LISTED_MAX} entries`)
    .option('--account <id>', 'only about this account')
    .option('--who <name>', 'only by this person, or by the API key with this id')
    .addOption(new Option('--action <action>', 'only this action').choices(AUDIT_ACTIONS))
    .option('--target <id>', 'only about this event, webhook, key or other target')
    .option('--since <time>', 'only at this time (ISO 8601) or later', parseTime)
    .option('--after <id>', 'only those older than this entry', parseEntryId)
    .action(async ({ account, who: actor, after, json, ...others }: Options) => {
      const accountId = optionalId('account', account);
      await withDatabase(io, async ({ database }) => {
        const filter = { ...others, actor, accountId };
        const page = await listAudit(database, filter, { after, limit: LISTED_MAX });
        if (page === null) throw new Failure(`no entry ${after}`);
        printList(io, json, page.entries.map(entryObject), {
          head: HEAD,
          rows: page.entries.map(rowOf),
          none: 'no entries',
        });
        noteMore(io, page.hasMore, page.entries.at(-1));
      });
    });
}

function entryObject(entry: ListedAuditEntry) {
  return {
    id: entry.id,
    created_at: entry.createdAt.toISOString(),
    /** `kind`: cli, key or console. */
    by: { kind: entry.actorKind, name: entry.actor },
    action: entry.action,
    account: entry.accountId,
    target: entry.target,
    webhook: entry.webhookId,
    count: entry.count,
    before: entry.before,
    after: entry.after,
    note: entry.note,
  };
}

function rowOf(entry: ListedAuditEntry): string[] {
  return [
    String(entry.id),
    entry.createdAt.toISOString(),
    `${entry.actor} (${entry.actorKind})`,
    entry.action,
    entry.target,
    countInWords(entry.count, entry.after?.['has_more'] === true),
    [changeOf(entry), entry.note ?? ''].filter((text) => text !== '').join('; '),
  ];
}

/** The values that differ, such as `webhooks 100 to webhooks 250`. A side without values is left out. */
function changeOf({ before, after }: ListedAuditEntry): string {
  const [was, is] = [before ?? {}, after ?? {}];
  const isChanged = (name: string) => !isDeepStrictEqual(was[name], is[name]);
  const changed = (values: Readonly<Record<string, unknown>>) => {
    const names = Object.keys(values).filter(isChanged);
    return names.map((name) => `${name} ${word(values[name])}`).join(', ');
  };
  return [changed(was), changed(is)].filter((text) => text !== '').join(' to ');
}

/** Quoted, unless it has only characters that are safe on a terminal. */
function word(value: unknown): string {
  return typeof value === 'string' && /^[\w.:-]+$/.test(value) ? value : JSON.stringify(value);
}

function parseEntryId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It is not the id of an entry.');
  return Number(text);
}
