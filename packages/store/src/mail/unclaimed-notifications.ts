import type { BlamedAddress, ReportedEvent } from '@postrider/domain';
import { run, runIn } from '../db/statement.ts';
import type { Queryable } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { lockProviderMessage } from './sql/end-emails.ts';
import { claimNotifications, keepNotification, takeNotification } from './sql/unclaimed-notifications.ts';

/*
 * The provider may report of a message before its own answer, with its id of the message, has been committed here. Such
 * a report is kept, and taken in by the transaction that makes the message known.
 */

/** What a report changes. Nothing but JSON. */
export interface ReportedChange {
  readonly event: ReportedEvent;
  /** Nothing more may be sent to them. */
  readonly suppress: readonly BlamedAddress[];
}

/** Waits for the hand-over that makes this id known, if one is about to commit; none can until this transaction ends. */
export async function waitForAcceptance(client: Queryable, providerMessageId: string): Promise<void> {
  await run(client, lockProviderMessage, [providerMessageId]);
}

/** Keeps a report for a message that is not known, once `waitForAcceptance` has returned. */
export async function keepUntilAcceptance(
  client: Queryable,
  { messageId, providerMessageId }: { readonly messageId: string; readonly providerMessageId: string },
  { event, suppress }: ReportedChange,
): Promise<void> {
  const report = JSON.stringify({ event, suppress } satisfies ReportedChange);
  await run(client, keepNotification, [messageId, providerMessageId, report]);
}

/**
 * Takes out what was kept for a message that becomes known in this transaction, each report once for all time; behind
 * `await-email`, so that none can be kept any more.
 *
 * @param providerMessageId null: the provider gave none, and there can be no report that names it.
 */
export async function claimReports(
  tx: Transaction,
  providerMessageId: string | null,
): Promise<ReportedChange[]> {
  if (providerMessageId === null) return [];
  const kept = await runIn<{ message_id: string; report: string }>(tx.client, claimNotifications, [
    providerMessageId,
  ]);
  const claimed: ReportedChange[] = [];
  for (const { message_id: messageId, report } of kept) {
    const taken = await runIn(tx.client, takeNotification, [messageId]);
    if (taken.length > 0) claimed.push(JSON.parse(report) as ReportedChange);
  }
  return claimed;
}
