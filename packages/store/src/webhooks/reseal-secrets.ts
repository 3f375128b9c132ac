import { openHeaders, sealHeaders } from '@postrider/domain';
import type { SecretBox, SealedSecret, WebhookId } from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { inTransaction } from '../db/pool.ts';
import { run, statement } from '../db/statement.ts';

/** A step reads and reseals at most this many rows. It takes about 50 ms and holds locks for 10 ms. */
const RESEALED_PER_STEP = 1_000;

/** A key other than the sealing key, and the webhooks with secrets that it sealed. */
export interface OtherKey {
  readonly keyId: string;
  readonly webhooks: number;
  readonly oldestWebhookId: WebhookId;
}

interface SealedRow {
  readonly id: WebhookId;
  readonly keyId: string;
  readonly secret: Buffer;
  readonly headers: Buffer | null;
}

/** $1 the webhook before the page, $2 rows at most, $3 the sealing key. */
const READ_PAGE = statement('read-sealed-secrets')`
    select w.id, w.secret_key_id as "keyId", w.secret_sealed as secret, w.headers_sealed as headers
    from webhooks w where w.id > $1 and w.secret_key_id <> $3 order by w.id limit $2`;

/**
 * Stores secrets that were sealed again. No other statement changes a stored secret.
 *
 * Guarantee: two concurrent commands reseal each webhook once. Deliveries and events do not wait: they lock
 * the row only `for key share`.
 *
 * `any ($1)` repeats the join. Without it, Postgres may read the whole table for one step.
 *
 * $1 webhooks, $2 the old key of each, $3 secrets, $4 headers, $5 the sealing key. Returns the old key of
 * each changed webhook.
 */
const RESEAL = statement('reseal-secrets')`
    with mine as materialized (
      select w.id, s.key_id, s.secret, s.headers
      from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[]) s (webhook_id, key_id, secret, headers)
      join webhooks w on w.id = s.webhook_id and w.secret_key_id = s.key_id
      where w.id = any ($1::text[])
      order by w.id
      for no key update of w
    )
    update webhooks w
    set secret_key_id = $5, secret_sealed = m.secret, headers_sealed = m.headers
    from mine m
    where w.id = m.id
    returning m.key_id as "oldKeyId"`;

/** $1 the sealing key. */
const COUNT_OTHERS = statement('count-other-keys')`
    select w.secret_key_id as "keyId", count(*)::int as webhooks, min(w.id) as "oldestWebhookId"
    from webhooks w where w.secret_key_id <> $1 group by w.secret_key_id order by w.secret_key_id`;

export async function readOtherKeys(
  { pool }: Pick<Database, 'pool'>,
  { keyId }: Pick<SecretBox, 'keyId'>,
): Promise<OtherKey[]> {
  return runOn<OtherKey>(pool, COUNT_OTHERS, [keyId]);
}

/**
 * Seals the secrets of all webhooks again, with the sealing key: the first key of SECRETS_KEY. Each step
 * commits alone, so a command that was interrupted can be run again. A secret that does not open stays as it
 * is.
 *
 * @param onStep gets the number of webhooks so far, before a further step. @returns this number at the end.
 */
export async function resealSecrets(
  { pool }: Pick<Database, 'pool'>,
  secrets: SecretBox,
  by: Actor,
  onStep: (resealed: number) => void,
): Promise<number> {
  let resealed = 0;
  for (let after = ''; ;) {
    const page = await runOn<SealedRow>(pool, READ_PAGE, [after, RESEALED_PER_STEP, secrets.keyId]);
    const step = page.flatMap((row) => sealAgain(secrets, row) ?? []);
    if (step.length > 0) resealed += await storeStep(pool, secrets.keyId, step, by);
    const last = page.at(-1);
    if (last === undefined || page.length < RESEALED_PER_STEP) return resealed;
    after = last.id;
    onStep(resealed);
  }
}

interface ResealedRow {
  readonly id: WebhookId;
  readonly oldKeyId: string;
  readonly secret: SealedSecret;
  readonly headers: SealedSecret | null;
}

/** @returns null when the secret or the headers do not open. */
function sealAgain(secrets: SecretBox, { id, keyId, secret, headers }: SealedRow): ResealedRow | null {
  try {
    return {
      id,
      oldKeyId: keyId,
      secret: secrets.seal(secrets.open({ keyId, sealed: secret }, id), id),
      headers:
        headers === null
          ? null
          : sealHeaders(secrets, openHeaders(secrets, { keyId, sealed: headers }, id), id),
    };
  } catch {
    return null; // `readOtherKeys` still counts this webhook
  }
}

async function storeStep(
  pool: Database['pool'],
  keyId: string,
  step: readonly ResealedRow[],
  by: Actor,
): Promise<number> {
  return inTransaction(pool, async (client) => {
    const changed = await run<Pick<ResealedRow, 'oldKeyId'>>(client, RESEAL, [
      step.map(({ id }) => id),
      step.map(({ oldKeyId }) => oldKeyId),
      step.map(({ secret }) => secret.sealed),
      step.map(({ headers }) => headers?.sealed ?? null),
      keyId,
    ]);
    if (changed.length > 0) {
      const before = { keys: [...new Set(changed.map(({ oldKeyId }) => oldKeyId))].sort() };
      const entry = {
        accountId: null,
        target: keyId,
        count: changed.length,
        before,
        after: { keys: [keyId] },
      };
      await recordAudit(client, by, { action: 'secrets.reseal', ...entry });
    }
    return changed.length;
  });
}
