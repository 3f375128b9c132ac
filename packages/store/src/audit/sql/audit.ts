import { forRetention } from '../../db/bounded-step.ts';
import { statement } from '../../db/statement.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * Guarantee: the entry exists exactly when the action does, because both are in one transaction.
 *
 * $1 and $2 the actor's kind and name, $3 action, $4 account, $5 target, $6 webhook, $7 count, $8 and $9 the
 * values before and after, $10 note.
 */
export const insertEntry = statement('record-audit')`
    insert into audit (actor_kind, actor, action, account_id, target, webhook_id, count, before, after, note)
    values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9::jsonb, $10)`;

/** $1 an entry. Returns its position in the lists. */
export const findEntry = statement('find-audit-entry')`
    select created_at::text as at, id::text as id from audit where id = $1`;

/** Columns with an index of their own. The first usually has the fewest entries of one value. */
const INDEXED = ['target', 'actor', 'account_id', 'action'] as const;
export type AuditCondition = (typeof INDEXED)[number];

/** Joins account and action as the index `audit_of_account_by_action` does. */
const JOINER = " || ' ' || ";

/**
 * Lists entries, the newest first. Each set of conditions has its own statement. Postgres reads along one
 * index: that of the target, that of account and action together, or that of the first column in `INDEXED`.
 * All other conditions are in a form that no index has. Without a condition it reads along the index by age.
 *
 * $1 and $2 the time and the id of the entry before the page, $3 the time of the oldest entry, $4 entries at
 * most, $5 and following: a value for each condition.
 */
export function listEntries(conditions: readonly AuditCondition[]): Statement {
  const at = conditions.length === 0 ? forRetention('created_at') : 'created_at';
  const narrowed = conditionsOf(conditions).map((condition) => `and ${condition}`);
  const name = ['list-audit', ...conditions.map((column) => column.replace('_', '-'))].join('-by-');
  return statement(name)`
    select id, created_at as "createdAt", actor_kind as "actorKind", actor, action, account_id as "accountId",
           target, webhook_id as "webhookId", count, before, after, note
    from audit
    where (${at}, id) < ($1::timestamptz, $2::bigint) and ${at} >= $3::timestamptz ${narrowed.join(' ')}
    order by ${at} desc, id desc
    limit $4`;
}

function conditionsOf(given: readonly AuditCondition[]): string[] {
  const [first] = INDEXED.filter((column) => given.includes(column));
  if (first === undefined) return [];
  const isPair = first !== 'target' && given.includes('account_id') && given.includes('action');
  const indexed: readonly AuditCondition[] = isPair ? ['account_id', 'action'] : [first];
  const value = (column: AuditCondition) => `$${given.indexOf(column) + 5}::text`;
  const others = given.filter((column) => !indexed.includes(column));
  return [
    `${indexed.join(JOINER)} = ${indexed.map(value).join(JOINER)}`,
    ...others.map((column) => `greatest(${column}, '') = ${value(column)}`),
  ];
}
