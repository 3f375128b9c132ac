import type { AccountId, WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { run, runIn } from '../db/statement.ts';
import type { Queryable } from '../db/statement.ts';
import { Transaction } from '../db/transaction.ts';
import { pageOf } from '../db/page.ts';
import type { Page } from '../db/page.ts';
import { findEntry, insertEntry, listEntries } from './sql/audit.ts';
import type { AuditCondition } from './sql/audit.ts';

/** Who acts, and why. */
export interface Actor {
  readonly kind: 'cli' | 'key' | 'console';
  /** The id of an API key, or the name of a person. */
  readonly name: string;
  /** Email addresses are removed, because an erasure does not delete audit entries. */
  readonly note?: string | undefined;
}

export const AUDIT_ACTIONS = [
  'account.create',
  'account.erase',
  'account.limit',
  'account.resume',
  'account.suspend',
  'account.update',
  'dead-letters.replay',
  'domain.release',
  'event.replay',
  'installation.set',
  'key.create',
  'key.revoke',
  'message.release',
  'recovery.start',
  'recovery.stop',
  'secrets.reseal',
  'suppression.remove',
  'webhook.delete',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The values that an action changed. No secret, no digest of a key. Email addresses are removed. */
export type AuditValues = Readonly<Record<string, unknown>>;

/** What an action did. */
export interface AuditEntry {
  readonly action: AuditAction;
  /** null: the whole installation. */
  readonly accountId: AccountId | null;
  /** The id of what changed. For many rows of a webhook: the webhook's id. */
  readonly target: string;
  readonly webhookId?: WebhookId | undefined;
  /** The number of changed rows. */
  readonly count: number;
  readonly before?: AuditValues | undefined;
  readonly after?: AuditValues | undefined;
}

/** An entry as it is listed. */
export interface ListedAuditEntry {
  readonly id: number;
  readonly createdAt: Date;
  readonly actorKind: Actor['kind'];
  readonly actor: string;
  readonly action: AuditAction;
  readonly accountId: AccountId | null;
  readonly target: string;
  readonly webhookId: WebhookId | null;
  readonly count: number;
  readonly before: AuditValues | null;
  readonly after: AuditValues | null;
  readonly note: string | null;
}

/** An absent property matches any value. */
export interface AuditFilter {
  readonly accountId?: AccountId | undefined;
  /** The name of the actor. */
  readonly actor?: string | undefined;
  readonly action?: AuditAction | undefined;
  readonly target?: string | undefined;
  /** At this time or later. */
  readonly since?: Date | undefined;
}

export interface AuditPageRequest {
  /** Only entries older than this one. */
  readonly after?: number | undefined;
  readonly limit: number;
}

const ADDRESSES = /\S*@\S*/g;

interface Position {
  readonly at: string;
  readonly id: string;
}

/** The position before the newest entry. */
const FIRST: Position = { at: 'infinity', id: '0' };

/** Writes the entry of an action. @param tx the action's own transaction, or the connection that has it */
export async function recordAudit(
  tx: Transaction | Queryable,
  actor: Actor,
  { action, accountId, target, webhookId, count, before, after }: AuditEntry,
): Promise<void> {
  const values = [
    actor.kind,
    actor.name,
    action,
    accountId,
    target,
    webhookId ?? null,
    count,
    before === undefined ? null : JSON.stringify(before, replaceAddresses),
    after === undefined ? null : JSON.stringify(after, replaceAddresses),
    actor.note === undefined ? null : withoutAddresses(actor.note),
  ];
  await (tx instanceof Transaction ? runIn(tx.client, insertEntry, values) : run(tx, insertEntry, values));
}

/** A replacer of `JSON.stringify`. An account's name, for example, may be an address. */
function replaceAddresses(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? withoutAddresses(value) : value;
}

function withoutAddresses(text: string): string {
  return text.replaceAll(ADDRESSES, '[address]');
}

/** @returns the newest entries first; null when `after` is no entry. */
export async function listAudit(
  db: Database,
  { accountId, actor, action, target, since }: AuditFilter,
  { after, limit }: AuditPageRequest,
): Promise<Page<ListedAuditEntry> | null> {
  const from = after === undefined ? FIRST : (await runOn<Position>(db.pool, findEntry, [after]))[0];
  if (from === undefined) return null;
  const conditions: [AuditCondition, string | undefined][] = [
    ['account_id', accountId],
    ['actor', actor],
    ['action', action],
    ['target', target],
  ];
  const given = conditions.filter(([, value]) => value !== undefined);
  const rows = await runOn<Omit<ListedAuditEntry, 'id'> & { readonly id: string }>(
    db.pool,
    listEntries(given.map(([column]) => column)),
    [from.at, from.id, since?.toISOString() ?? '-infinity', limit + 1, ...given.map(([, value]) => value)],
  );
  const entries = rows.map((row) => ({ ...row, id: Number(row.id) }));
  return pageOf(entries, limit);
}
