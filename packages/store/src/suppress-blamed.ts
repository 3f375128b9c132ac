import { newId, toBeSuppressed } from '@postrider/domain';
import type { AccountId, BlamedAddress, Clock, EmailId } from '@postrider/domain';
import { suppressReported } from './sql/suppress-reported.ts';
import { runIn } from './statement.ts';
import type { Transaction } from './transaction.ts';

/** Suppresses, for anything, the addresses that reports about a message blame: in the transaction of their events. */
export async function suppressBlamed(
  tx: Transaction,
  blamed: readonly BlamedAddress[],
  email: { readonly id: EmailId; readonly accountId: AccountId },
  clock: Clock,
): Promise<void> {
  const wishes = toBeSuppressed(blamed);
  if (wishes.length === 0) return;
  await runIn(tx.client, suppressReported, [
    wishes.map(() => newId('suppression', clock)),
    wishes.map(({ address }) => address),
    wishes.map(({ reason }) => reason),
    email.accountId,
    email.id,
    clock.now().toISOString(),
  ]);
}
