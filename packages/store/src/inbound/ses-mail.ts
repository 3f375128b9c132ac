import type { SesMail } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { addSesMail, claimSesMail, countSesMail, deferSesMail, endSesMail } from './sql/ses-mail.ts';

/** A claim on a row. A later claim makes it invalid. */
export interface SesMailClaim {
  readonly notificationId: string;
  readonly claim: number;
}

export type ClaimedSesMail = SesMail & SesMailClaim;

export type SesMailStore = ReturnType<typeof createSesMailStore>;

export function createSesMailStore(db: Database) {
  return {
    /**
     * Stores the mail until an inbound process has received it.
     *
     * @param notificationId SNS's id, which is the same on every repetition.
     * @returns false when the notification was stored before.
     * @throws StoreUnavailableError; a repetition stores nothing twice.
     */
    async add(
      notificationId: string,
      { providerMessageId, source, recipients, verdicts, location }: SesMail,
    ): Promise<boolean> {
      const added = await runOn(db.pool, addSesMail, [
        notificationId,
        providerMessageId,
        source,
        recipients,
        JSON.stringify(verdicts),
        location.kind === 'content' ? location.bytes : null,
        location.kind === 'object' ? location.bucket : null,
        location.kind === 'object' ? location.key : null,
      ]);
      return added.length > 0;
    },
  };
}

type ClaimedRow = Omit<ClaimedSesMail, 'location'> & {
  readonly content: Buffer | null;
  readonly bucket: string;
  readonly key: string;
};

/**
 * The mail of SES as an inbound process sees it. `ReceivedMessageStore.receive` ends a message that it
 * stores. All methods throw StoreUnavailableError.
 */
export type SesMailWork = ReturnType<typeof createSesMailWork>;

export function createSesMailWork(db: Database) {
  return {
    /** A message that does not end within the lease is claimed again. */
    async claim({
      rowsMax,
      leaseSeconds,
    }: {
      readonly rowsMax: number;
      readonly leaseSeconds: number;
    }): Promise<ClaimedSesMail[]> {
      const rows = await runOn<ClaimedRow>(db.pool, claimSesMail, [rowsMax, leaseSeconds]);
      return rows.map(({ content, bucket, key, ...mail }) => ({
        ...mail,
        location: content === null ? { kind: 'object', bucket, key } : { kind: 'content', bytes: content },
      }));
    },
    /** Ends a message that is not stored. @returns false when the claim is no longer held. */
    async end({ notificationId, claim }: SesMailClaim): Promise<boolean> {
      return (await runOn(db.pool, endSesMail, [notificationId, claim])).length > 0;
    },
    /** Makes the message due again after the delay. This also renews a lease. */
    async defer({ notificationId, claim }: SesMailClaim, delayMs: number): Promise<void> {
      await runOn(db.pool, deferSesMail, [notificationId, claim, delayMs]);
    },
    /** Counts waiting and claimed messages. */
    async count(): Promise<number> {
      const [row] = await runOn<{ count: number }>(db.pool, countSesMail, []);
      return row?.count ?? 0;
    },
  };
}

/**
 * Ends a message that is stored. Run it in the transaction that stores it.
 *
 * @returns when the notification was stored; null when the claim is no longer held.
 */
export async function endInTransaction(
  tx: Transaction,
  { notificationId, claim }: SesMailClaim,
): Promise<Date | null> {
  const [ended] = await runIn<{ storedAt: Date }>(tx.client, endSesMail, [notificationId, claim]);
  return ended?.storedAt ?? null;
}
