import { newSigningSecret, sealHeaders } from '@postrider/domain';
import type { AccountId, EventType, SecretBox, WebhookHeaders, WebhookId } from '@postrider/domain';
import { lockAccount } from '../db/sql/lock-account.ts';
import { runIn } from '../db/statement.ts';
import type { Prisma } from '../generated/client.ts';

/** The values of a new row in `webhooks`. */
export interface WebhookValues {
  readonly id: WebhookId;
  readonly accountId: AccountId;
  /** The subject of a routing rule; null: the account's own endpoint. */
  readonly subject: string | null;
  /** Normalised by `parseEndpoint`. */
  readonly endpoint: string;
  readonly events: readonly EventType[];
  readonly description?: string | null;
  /** Null: events of every domain. Else at least one domain, in lower-case ASCII, without duplicates. */
  readonly domains?: readonly string[] | null;
  /** Every attempt carries them. Checked by `webhookHeaderFault`. No answer shows them. */
  readonly headers?: WebhookHeaders | null;
}

/**
 * Locks the account, then counts its webhooks. The count includes the webhooks of every earlier holder of the
 * lock.
 *
 * @param perAccountMax applies to an account without a limit of its own.
 * @returns the limit when the account has reached it; null when this transaction may insert one more.
 */
export async function reachedWebhookLimit(
  client: Prisma.TransactionClient,
  accountId: AccountId,
  perAccountMax: number,
): Promise<number | null> {
  const [limits] = await runIn<{ webhooksMax: number | null }>(client, lockAccount, [accountId]);
  const max = limits?.webhooksMax ?? perAccountMax;
  const count = await client.webhook.count({ where: { accountId, removedAt: null } });
  return count >= max ? max : null;
}

/** Inserts a webhook with a new signing secret. The secret and the headers are sealed for its id. */
export async function insertWebhook(
  client: Prisma.TransactionClient,
  secrets: SecretBox,
  { id, headers = null, domains, events, ...values }: WebhookValues,
) {
  const signingSecret = newSigningSecret();
  const { keyId, sealed } = secrets.seal(signingSecret, id);
  const sealedHeaders = headers === null ? null : sealHeaders(secrets, headers, id).sealed;
  const row = await client.webhook.create({
    data: {
      ...values,
      id,
      events: [...events],
      // Prisma would write an empty list for null. A webhook with an empty list would get nothing.
      ...(domains ? { domains: [...domains] } : {}),
      secretKeyId: keyId,
      // For Prisma's type: it takes no Uint8Array that may be over a SharedArrayBuffer.
      secretSealed: Uint8Array.from(sealed),
      headersSealed: sealedHeaders === null ? null : Uint8Array.from(sealedHeaders),
    },
  });
  return { row, signingSecret };
}
