import { addressesToSuppress, newId } from '@postrider/domain';
import type { AccountId, BlamedAddress, Clock, EmailId } from '@postrider/domain';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { suppressReported } from './sql/provider-reports.ts';

/**
 * Of each address that reports blame: an id for its suppression, the address, and the suppression's origin.
 */
export function suppressionValues(
  blamed: readonly BlamedAddress[],
  clock: Clock,
): [ids: string[], addresses: string[], origins: string[]] {
  const wishes = addressesToSuppress(blamed);
  return [
    wishes.map(() => newId('suppression', clock)),
    wishes.map(({ address }) => address),
    wishes.map(({ reason }) => reason),
  ];
}

/** Suppresses, for anything, the addresses that reports about a message blame: in the transaction of their events. */
export async function suppressBlamed(
  tx: Transaction,
  blamed: readonly BlamedAddress[],
  email: { readonly id: EmailId; readonly accountId: AccountId },
  clock: Clock,
): Promise<void> {
  const [ids, ...wishes] = suppressionValues(blamed, clock);
  if (ids.length === 0) return;
  const values = [ids, ...wishes, email.accountId, email.id, clock.now().toISOString()];
  await runIn(tx.client, suppressReported, values);
}
