import type { SesMail } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { addSesMail, claimSesMail, deferSesMail, endSesMail } from './sql/ses-mail.ts';

export interface SesMailStore {
  /**
   * Keeps the message until it is taken in.
   *
   * @param notificationId SNS's id: the same on every repetition. @returns false: that one was kept before.
   * @throws StoreUnavailableError; a repetition keeps nothing twice
   */
  add(notificationId: string, mail: SesMail): Promise<boolean>;
}

/** A claim on a row; a later claim ends it. */
export interface SesMailClaim {
  readonly notificationId: string;
  readonly claim: number;
}

export type ClaimedSesMail = SesMail & SesMailClaim;

/** An inbound process's view. All methods throw StoreUnavailableError. A message that is stored ends with `ReceivedMessageStore.receive`. */
export interface SesMailWork {
  /** What is not ended within the lease is claimed by the next one. */
  claim(limits: { readonly rowsMax: number; readonly leaseSeconds: number }): Promise<ClaimedSesMail[]>;
  /** Ends a message that is not stored. @returns false: the claim is no longer held */
  end(claim: SesMailClaim): Promise<boolean>;
  /** Due again after the delay, which renews a lease, too. */
  defer(claim: SesMailClaim, delayMs: number): Promise<void>;
  /** @returns how many wait or are held */
  count(): Promise<number>;
}

export function createSesMailStore(db: Database): SesMailStore {
  return {
    async add(notificationId, { providerMessageId, source, recipients, verdicts, location }) {
      const placed =
        location.kind === 'content' ? [location.bytes, null, null] : [null, location.bucket, location.key];
      const added = await runOn(db.pool, addSesMail, [
        ...[notificationId, providerMessageId, source, recipients, JSON.stringify(verdicts)],
        ...placed,
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

export function createSesMailWork(db: Database): SesMailWork {
  return {
    async claim({ rowsMax, leaseSeconds }) {
      const rows = await runOn<ClaimedRow>(db.pool, claimSesMail, [rowsMax, leaseSeconds]);
      return rows.map(({ content, bucket, key, ...mail }) => ({
        ...mail,
        location: content === null ? { kind: 'object', bucket, key } : { kind: 'content', bytes: content },
      }));
    },
    async end({ notificationId, claim }) {
      return (await runOn(db.pool, endSesMail, [notificationId, claim])).length > 0;
    },
    async defer({ notificationId, claim }, delayMs) {
      await runOn(db.pool, deferSesMail, [notificationId, claim, delayMs]);
    },
    async count() {
      const [row] = await runOn<{ n: number }>(db.pool, COUNT, []);
      return row?.n ?? 0;
    },
  };
}

/** In the transaction that stores the message. @returns when it was kept; null: the claim is no longer held */
export async function endInTransaction(
  tx: Transaction,
  { notificationId, claim }: SesMailClaim,
): Promise<Date | null> {
  const [ended] = await runIn<{ keptAt: Date }>(tx.client, endSesMail, [notificationId, claim]);
  return ended?.keptAt ?? null;
}

const COUNT = { name: 'count-ses-mail', text: 'select count(*)::int as n from ses_mail' };
