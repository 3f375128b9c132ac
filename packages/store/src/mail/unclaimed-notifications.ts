import type { BlamedAddress, ReportedEvent } from '@postrider/domain';
import { run, runIn } from '../db/statement.ts';
import type { Queryable } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { lockProviderMessage } from './sql/end-emails.ts';
import { claimNotifications, keepNotification, takeNotification } from './sql/provider-reports.ts';

/**
 * A notification about a message may arrive before we have committed the provider's id of the message. Then
 * its report is stored. The transaction that later stores this id records the report.
 */

/** The changes that a notification makes: its report. It holds only JSON values. */
export interface ReportedChange {
  readonly event: ReportedEvent;
  /** The addresses to suppress. */
  readonly suppress: readonly BlamedAddress[];
}

/**
 * Waits for a transaction that stores this provider's id now. Until the caller's transaction ends, no other
 * transaction can store the id.
 */
export async function waitForAcceptance(client: Queryable, providerMessageId: string): Promise<void> {
  await run(client, lockProviderMessage, [providerMessageId]);
}

/** Stores a report about an unknown message. Call it after `waitForAcceptance`. */
export async function keepUntilAcceptance(
  client: Queryable,
  {
    notificationId,
    providerMessageId,
  }: { readonly notificationId: string; readonly providerMessageId: string },
  { event, suppress }: ReportedChange,
): Promise<void> {
  const report = JSON.stringify({ event, suppress } satisfies ReportedChange);
  await run(client, keepNotification, [notificationId, providerMessageId, report]);
}

/**
 * Removes and returns the reports that were stored for a message. Each report is returned once, ever. Call it
 * after `await-email`, in the same transaction: then no further report can be stored.
 *
 * @param providerMessageId null: the provider gave no id, so no report can name it.
 */
export async function claimReports(
  tx: Transaction,
  providerMessageId: string | null,
): Promise<ReportedChange[]> {
  if (providerMessageId === null) return [];
  const kept = await runIn<{ messageId: string; report: string }>(tx.client, claimNotifications, [
    providerMessageId,
  ]);
  const claimed: ReportedChange[] = [];
  for (const { messageId: notificationId, report } of kept) {
    const taken = await runIn(tx.client, takeNotification, [notificationId]);
    if (taken.length > 0) claimed.push(JSON.parse(report) as ReportedChange);
  }
  return claimed;
}
