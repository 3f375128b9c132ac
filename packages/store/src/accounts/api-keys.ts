import { setTimeout } from 'node:timers/promises';
import { apiKeyDigest, canHave, isScope, newApiKey, newId } from '@postrider/domain';
import type { AccountId, ApiKeyId, Clock, KeyKind, Scope } from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import type { Transaction } from '../db/transaction.ts';
import { createKeyLookUps, SERVED_AFTER_REVOCATION_MS } from './key-look-ups.ts';
import type { FoundKey } from './key-look-ups.ts';

/** An API key without its secret text. */
export interface ApiKey {
  readonly id: ApiKeyId;
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  /** The effective scopes. A scope that keys of this kind cannot have is left out. */
  readonly scopes: readonly Scope[];
  /** The key's own limit; null: the installation's setting applies. */
  readonly rateLimitPerMinute: number | null;
  /** The name that the operator gave it. */
  readonly name: string | null;
  readonly createdAt: Date;
  /** It does not work from then on. null: it does not expire. */
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** The start of the hour in which it was last used. null: never used. */
  readonly lastUsedAt: Date | null;
}

/** A key that is neither revoked nor expired. */
export interface ActiveKey extends ApiKey {
  /** True: its account is suspended, so the API serves no request with this key. */
  readonly isSuspended: boolean;
}

export interface NewApiKey {
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  readonly scopes: readonly Scope[];
  readonly rateLimitPerMinute: number | null;
  readonly name?: string | undefined;
  readonly expiresAt?: Date | undefined;
}

type KeyRow = Omit<FoundKey, 'isSuspended'>;

export type ApiKeyStore = ReturnType<typeof createApiKeyStore>;

export function createApiKeyStore(db: Database, clock: Clock) {
  return {
    /** @returns the stored key and its secret text, which is shown only here. */
    async create(request: NewApiKey, by: Actor): Promise<{ apiKey: ApiKey; key: string }> {
      const { accountId, kind, scopes, rateLimitPerMinute, name = null, expiresAt = null } = request;
      const key = newApiKey(kind);
      const data = {
        accountId,
        kind,
        rateLimitPerMinute,
        name,
        expiresAt,
        id: newId('apiKey', clock),
        scopes: [...scopes],
        digest: Uint8Array.from(apiKeyDigest(key)),
        createdAt: clock.now(),
      };
      const after = { kind, scopes, rate_limit: rateLimitPerMinute, expires_at: expiresAt };
      const row = await db.transactions.run(async (tx) => {
        await recordAudit(tx, by, { action: 'key.create', accountId, target: data.id, count: 1, after });
        return tx.client.apiKey.create({ data });
      });
      return { apiKey: apiKeyOf(row), key };
    },
    /**
     * Finds a key. It may answer from memory for a second, and then returns no promise.
     *
     * @param digest the `apiKeyDigest` of the key. @returns null when the key is unknown, revoked or expired.
     */
    findActive: createKeyLookUps(db.pool, activeKeyOf),
    async list(accountId: AccountId): Promise<ApiKey[]> {
      const rows = await db.prisma.apiKey.findMany({
        where: { accountId },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      });
      return rows.map(apiKeyOf);
    },
    /**
     * Revokes a key. Resolves 1.01 s after the commit: then no process accepts the key any more.
     *
     * @returns null when the key does not exist. A key that was revoked earlier keeps its time.
     */
    async revoke(id: ApiKeyId, by: Actor): Promise<ApiKey | null> {
      const row = await db.transactions.run((tx) => revoke(tx, id, clock.now(), by));
      if (row === null) return null;
      // Also for a key that was revoked earlier: the process that revoked it may have stopped before this
      // wait ended.
      await setTimeout(SERVED_AFTER_REVOCATION_MS);
      return apiKeyOf(row);
    },
  };
}

async function revoke(tx: Transaction, id: ApiKeyId, revokedAt: Date, by: Actor): Promise<KeyRow | null> {
  const [row] = await tx.client.apiKey.updateManyAndReturn({
    where: { id, revokedAt: null },
    data: { revokedAt },
  });
  if (row === undefined) return tx.client.apiKey.findUnique({ where: { id } });
  await recordAudit(tx, by, {
    action: 'key.revoke',
    accountId: row.accountId as AccountId,
    target: id,
    count: 1,
    before: { state: 'active' },
    after: { state: 'revoked' },
  });
  return row;
}

function activeKeyOf(row: FoundKey): ActiveKey {
  return { ...apiKeyOf(row), isSuspended: row.isSuspended };
}

function apiKeyOf(row: KeyRow): ApiKey {
  return {
    id: row.id as ApiKeyId,
    accountId: row.accountId as AccountId,
    kind: row.kind,
    scopes: row.scopes.filter(isScope).filter((scope) => canHave(row.kind, scope)),
    rateLimitPerMinute: row.rateLimitPerMinute,
    name: row.name,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    revokedAt: row.revokedAt,
    lastUsedAt: row.lastUsedAt,
  };
}
