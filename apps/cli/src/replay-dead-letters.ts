import type { AccountId, DeadLetterId, WebhookId } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { messageOf } from '@postrider/runtime';
import {
  createDeadLetterStore,
  createRecoveryStore,
  createWebhookLookUps,
  locateDeadLetters,
  readPostgresTime,
} from '@postrider/store';
import type { Actor, Database, DeadLetterFilter, LocatedDeadLetter, OwnedWebhook } from '@postrider/store';
import { Failure } from './failure.ts';
import { requireWebhook } from './ids.ts';
import type { Io } from './io.ts';
import { note, printAnswer, table } from './print.ts';
import { countInWords } from './recovery-object.ts';
import { POOL_SIZE } from './session.ts';

/** The arguments that every replay and count of dead letters takes. */
export interface Replaying {
  readonly io: Io;
  readonly database: Database;
  /**
   * Dead letters of other accounts count as missing. Undefined: the command takes dead letters of any
   * account.
   */
  readonly accountId: AccountId | undefined;
  readonly by: Actor;
  readonly json: boolean | undefined;
}

/** So many webhooks of an account are read at a time. */
const WEBHOOKS_PER_PAGE = 100;

/** Replays the given dead letters at once. @throws Failure when some are missing or failed */
export async function replayNamed(replaying: Replaying, ids: readonly DeadLetterId[]): Promise<void> {
  const { io, database, by, json } = replaying;
  const store = createDeadLetterStore(database);
  const located = await locate(replaying, ids);
  const slots = new Semaphore(POOL_SIZE);
  const outcomes = await Promise.allSettled(
    located.map(({ accountId, id }) => slots.run(() => store.replay(accountId, id, by))),
  );
  const done = new Set<DeadLetterId>();
  const failed = new Map<DeadLetterId, unknown>();
  for (const [index, { id }] of located.entries()) {
    const outcome = outcomes[index];
    if (outcome?.status === 'rejected') failed.set(id, outcome.reason);
    else if (outcome?.value === true) done.add(id);
  }
  const missing = ids.filter((id) => !done.has(id) && !failed.has(id));
  printAnswer(io, json, { replayed: done.size, missing }, [`replayed ${done.size}`]);
  const [error] = failed.values();
  if (error !== undefined) {
    const names = [...failed.keys(), ...missing].join(', ');
    throw new Failure(`not replayed: ${names}: ${messageOf(error)}`);
  }
  failFor(missing);
}

/** Counts the given dead letters by webhook. @throws Failure when some are missing */
export async function countNamed(replaying: Replaying, ids: readonly DeadLetterId[]): Promise<void> {
  const located = await locate(replaying, ids);
  const counts = new Map<WebhookId, Counted>();
  for (const { webhookId: webhook, accountId: account } of located) {
    const { matched = 0 } = counts.get(webhook) ?? {};
    counts.set(webhook, { webhook, account, matched: matched + 1, has_more: false });
  }
  const missing = ids.filter((id) => !located.some((letter) => letter.id === id));
  printCounts(replaying, [...counts.values()], missing);
  failFor(missing);
}

async function locate(
  { database, accountId }: Replaying,
  ids: readonly DeadLetterId[],
): Promise<LocatedDeadLetter[]> {
  const located = await locateDeadLetters(database, ids);
  return located.filter((letter) => accountId === undefined || letter.accountId === accountId);
}

function failFor(missing: readonly DeadLetterId[]): void {
  if (missing.length > 0) throw new Failure(`no dead letter with a webhook: ${missing.join(', ')}`);
}

/** The recovery that sends the dead letters of a filter. */
export function recoveryOf({ since = new Date(0), until, type, reason }: DeadLetterFilter) {
  const types = type === undefined ? [] : [type];
  return { since, until, types, reason, only: 'dead_letters' } as const;
}

/** Counts the dead letters of the filter, at one webhook or at each webhook of the account. */
export async function countAll(
  replaying: Replaying,
  webhookId: WebhookId | undefined,
  { filter, rate }: { readonly filter: DeadLetterFilter; readonly rate: number | undefined },
): Promise<void> {
  const { io, database, accountId } = replaying;
  const webhooks =
    webhookId === undefined
      ? await webhooksOf(database, accountId)
      : [await requireWebhook(database, webhookId, accountId)];
  const recoveries = createRecoveryStore(database, io.clock);
  const counts: Counted[] = [];
  for (const { id, accountId: account } of webhooks) {
    const counted = await recoveries.count(account, id, recoveryOf(filter));
    const { matched = 0, hasMore = false } = counted ?? {};
    if (matched > 0) counts.push({ webhook: id, account, matched, has_more: hasMore });
  }
  printCounts(replaying, counts, [], rate);
}

interface Counted {
  readonly webhook: WebhookId;
  readonly account: AccountId;
  readonly matched: number;
  /** More dead letters match: the count was cut. */
  readonly has_more: boolean;
}

export function printCounts(
  { io, json }: Pick<Replaying, 'io' | 'json'>,
  counts: readonly Counted[],
  missing: readonly DeadLetterId[],
  rate?: number,
): void {
  const matched = counts.reduce((sum, each) => sum + each.matched, 0);
  const hasMore = counts.some((each) => each.has_more);
  const rows = counts.map(({ webhook, account, matched: ofWebhook, has_more: isCut }) => [
    webhook,
    account,
    countInWords(ofWebhook, isCut),
  ]);
  printAnswer(io, json, { dry_run: true, matched, has_more: hasMore, webhooks: counts, missing }, [
    `${hasMore ? 'more than ' : ''}${matched} dead letters match; nothing is sent`,
    ...(rate === undefined || matched === 0 ? [] : [durationInWords(counts, rate)]),
    ...(rows.length === 0 ? [] : table(['WEBHOOK', 'ACCOUNT', 'DEAD LETTERS'], rows)),
  ]);
}

function durationInWords(counts: readonly Counted[], rate: number): string {
  const most = Math.max(...counts.map((each) => each.matched));
  return `at ${rate} a second for each webhook it takes ${Math.ceil(most / rate)} s or longer`;
}

async function webhooksOf(database: Database, accountId: AccountId | undefined): Promise<OwnedWebhook[]> {
  if (accountId === undefined) return [];
  const webhooks = createWebhookLookUps(database);
  const found: OwnedWebhook[] = [];
  for (let hasMore = true; hasMore;) {
    const last = found.at(-1);
    const cursor = last === undefined ? null : ({ side: 'after', id: last.id } as const);
    const page = await webhooks.list(accountId, { limit: WEBHOOKS_PER_PAGE, cursor });
    found.push(...(page?.entries ?? []));
    hasMore = page?.hasMore ?? false;
  }
  return found;
}

/**
 * Replays the dead letters that exist at the start. With newer ones, an event that fails again at once would
 * repeat forever.
 */
export async function replayAll(
  { io, database, by, json }: Replaying,
  { id: webhookId, accountId }: OwnedWebhook,
  filter: DeadLetterFilter,
): Promise<void> {
  const store = createDeadLetterStore(database);
  const before = await readPostgresTime(database.pool);
  let replayed = 0;
  try {
    for (let remaining = 1; remaining > 0;) {
      const outcome = await store.replayMatching(accountId, { ...filter, webhookId, before }, by);
      // Only the webhook can be missing: `before` is a time, not a row.
      if (outcome.kind !== 'replayed') throw new Failure(`no webhook ${webhookId}`);
      replayed += outcome.replayed;
      // Another command may have locked the rest, and replays them.
      remaining = outcome.replayed === 0 ? 0 : outcome.remaining;
      if (remaining > 0) note(io, `postrider: replayed ${replayed} so far`);
    }
  } catch (error) {
    if (replayed > 0) note(io, `postrider: replayed ${replayed}, then stopped`);
    throw error;
  }
  printAnswer(io, json, { replayed, missing: [] }, [`replayed ${replayed}`]);
}
