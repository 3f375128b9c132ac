import { addressesToSuppress, newId } from '@postrider/domain';
import type { AccountId, BlamedAddress, Clock, EmailId } from '@postrider/domain';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { suppressReported } from './sql/provider-reports.ts';

/**
 * For each blamed address that is to be suppressed: an id for the suppression, the address, and the origin of
 * the suppression.
 */
export function suppressionValues(
  blamed: readonly BlamedAddress[],
  clock: Clock,
): [ids: string[], addresses: string[], origins: string[]] {
  const suppressed = addressesToSuppress(blamed);
  return [
    suppressed.map(() => newId('suppression', clock)),
    suppressed.map(({ address }) => address),
    suppressed.map(({ reason }) => reason),
  ];
}

/** Suppresses the blamed addresses for all mail. Run it in the transaction that records the reports. */
export async function suppressBlamed(
  tx: Transaction,
  blamed: readonly BlamedAddress[],
  email: { readonly id: EmailId; readonly accountId: AccountId },
  clock: Clock,
): Promise<void> {
  const [ids, addresses, origins] = suppressionValues(blamed, clock);
  if (ids.length === 0) return;
  const values = [ids, addresses, origins, email.accountId, email.id];
  await runIn(tx.client, suppressReported, values);
}
