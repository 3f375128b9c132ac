import { openHeaders, sealHeaders } from '@postrider/domain';
import type { SecretBox, SealedSecret, WebhookId } from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { inTransaction } from '../db/pool.ts';
import { run, statement } from '../db/statement.ts';

/** Rows read, and sealed at the most, in one step: about 50 ms, of which 10 ms hold locks. */
const ROWS_PER_STEP = 1_000;

/** Webhooks whose secrets another key than the one that seals now has sealed. */
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

/** $1 the webhook before the page, $2 rows. */
const READ_PAGE = statement('read-sealed-secrets')`
    select w.id, w.secret_key_id as "keyId", w.secret_sealed as secret, w.headers_sealed as headers
    from webhooks w where w.id > $1 order by w.id limit $2`;

/**
 * Stores secrets that were sealed again. No key but this statement changes a stored secret.
 *
 * Guarantee: of two commands at the same time, one seals a webhook again. Deliveries and events are not held
 * up: they lock no more of a webhook than its key.
 *
 * $1 webhooks, $2 the keys that sealed them, $3 secrets, $4 headers, $5 the new key. Returns those that it
 * changed.
 */
const RESEAL = statement('reseal-secrets')`
    with mine as materialized (
      select w.id, s.secret, s.headers
      from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[]) s (webhook_id, key_id, secret, headers)
      join webhooks w on w.id = s.webhook_id and w.secret_key_id = s.key_id
      where w.id = any ($1::text[])
      order by w.id
      for no key update of w
    )
    update webhooks w
    set secret_key_id = $5, secret_sealed = m.secret, headers_sealed = m.headers
    from mine m
    where w.id = m.id and w.id = any ($1::text[])
    returning w.id`;

/** $1 the key that seals now. */
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
 * Seals the secrets of all webhooks again, with the first key. Each step commits alone, so a pass that was
 * interrupted goes on where it stopped. It leaves a secret that does not open.
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
  for (let after = '', isLast = false; !isLast;) {
    const page = await runOn<SealedRow>(pool, READ_PAGE, [after, ROWS_PER_STEP]);
    const step = page.flatMap((row) => (row.keyId === secrets.keyId ? [] : (sealAgain(secrets, row) ?? [])));
    if (step.length > 0) resealed += await store(pool, secrets.keyId, step, by);
    after = page.at(-1)?.id ?? '';
    isLast = page.length < ROWS_PER_STEP;
    if (!isLast) onStep(resealed);
  }
  return resealed;
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
    return null; // the caller finds it under its old key
  }
}

async function store(
  pool: Database['pool'],
  keyId: string,
  step: readonly ResealedRow[],
  by: Actor,
): Promise<number> {
  return inTransaction(pool, async (client) => {
    const changed = await run(client, RESEAL, [
      step.map(({ id }) => id),
      step.map(({ oldKeyId }) => oldKeyId),
      step.map(({ secret }) => secret.sealed),
      step.map(({ headers }) => headers?.sealed ?? null),
      keyId,
    ]);
    if (changed.length > 0) {
      const before = { keys: [...new Set(step.map(({ oldKeyId }) => oldKeyId))].sort() };
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
