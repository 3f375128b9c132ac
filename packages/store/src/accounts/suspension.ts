import { setTimeout } from 'node:timers/promises';
import type { AccountId } from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { lockAccount } from '../db/sql/lock-account.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { SERVED_AFTER_REVOCATION_MS } from './key-look-ups.ts';

interface Suspension {
  /** null: the account is not suspended. */
  readonly suspendedAt: Date | null;
}

/**
 * Suspends an account, or resumes it. The API refuses the keys of a suspended account. Resolves 1.01 s after
 * the commit: then every API process knows the new state.
 *
 * @param suspendedAt null: resume. @returns null when the account does not exist. An account that was
 *   suspended earlier keeps its time.
 */
export async function suspendAccount(
  db: Database,
  id: AccountId,
  suspendedAt: Date | null,
  by: Actor,
): Promise<Suspension | null> {
  const current = await db.transactions.run((tx) => suspend(tx, id, suspendedAt, by));
  // Also when nothing changed: another process may have changed the account less than 1.01 s ago.
  if (current !== null) await setTimeout(SERVED_AFTER_REVOCATION_MS);
  return current;
}

async function suspend(
  tx: Transaction,
  id: AccountId,
  suspendedAt: Date | null,
  by: Actor,
): Promise<Suspension | null> {
  await runIn(tx.client, lockAccount, [id]);
  const select = { suspendedAt: true };
  const before = await tx.client.account.findUnique({ where: { id }, select });
  if (before === null) return null;
  const wasSuspended = before.suspendedAt !== null;
  const isSuspending = suspendedAt !== null;
  if (wasSuspended === isSuspending) return before;
  const after = await tx.client.account.update({ where: { id }, data: { suspendedAt }, select });
  await recordAudit(tx, by, {
    action: suspendedAt === null ? 'account.resume' : 'account.suspend',
    accountId: id,
    target: id,
    count: 1,
    before: stateOf(before),
    after: stateOf(after),
  });
  return after;
}

function stateOf({ suspendedAt }: Suspension) {
  return { state: suspendedAt === null ? 'active' : 'suspended' };
}
