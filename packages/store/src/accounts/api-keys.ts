import { setTimeout } from 'node:timers/promises';
import { apiKeyDigest, canHave, isScope, newApiKey, newId } from '@postrider/domain';
import type { AccountId, ApiKeyId, Clock, KeyKind, Scope } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { createKeyLookUps, SERVED_AFTER_REVOCATION_MS } from './key-look-ups.ts';
import type { FoundKey } from './key-look-ups.ts';

/** An API key as it is known after its making: never the key itself. */
export interface ApiKey {
  readonly id: ApiKeyId;
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  /** Those that count: a scope that a key of its kind cannot have is absent here. */
  readonly scopes: readonly Scope[];
  /** The key's own limit; null: the deployment's. */
  readonly rateLimitPerMinute: number | null;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

export interface NewApiKey {
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  readonly scopes: readonly Scope[];
  readonly rateLimitPerMinute: number | null;
}

export interface ApiKeyStore {
  /** @returns the stored key and, this once, the key itself. */
  create(request: NewApiKey): Promise<{ apiKey: ApiKey; key: string }>;
  /** The key behind the text of a request, unless unknown or revoked. One found by this store within a second is not asked for. */
  findActive(key: string): Promise<ApiKey | null>;
  list(accountId: AccountId): Promise<ApiKey[]>;
  /**
   * Revokes a key. Resolves a second after the commit: no store finds the key any more, whatever it had found before.
   *
   * @returns null when there is no such key; a key revoked before keeps its time.
   */
  revoke(id: ApiKeyId): Promise<ApiKey | null>;
}

export function createApiKeyStore(db: Database, clock: Clock): ApiKeyStore {
  const lookUp = createKeyLookUps(db.pool);
  return {
    async create(request) {
      const key = newApiKey(request.kind);
      const data = {
        ...request,
        id: newId('apiKey', clock),
        scopes: [...request.scopes],
        digest: Uint8Array.from(apiKeyDigest(key)),
        createdAt: clock.now(),
      };
      const row = await mappingUnavailable(() => db.prisma.apiKey.create({ data }));
      return { apiKey: apiKeyOf(row), key };
    },
    async findActive(key) {
      const row = await lookUp(key);
      return row === null ? null : apiKeyOf(row);
    },
    async list(accountId) {
      const rows = await mappingUnavailable(() =>
        db.prisma.apiKey.findMany({ where: { accountId }, orderBy: [{ createdAt: 'desc' }, { id: 'desc' }] }),
      );
      return rows.map(apiKeyOf);
    },
    async revoke(id) {
      const row = await mappingUnavailable(async () => {
        await db.prisma.apiKey.updateMany({
          where: { id, revokedAt: null },
          data: { revokedAt: clock.now() },
        });
        return db.prisma.apiKey.findUnique({ where: { id } });
      });
      if (row === null) return null;
      // Of a key that was revoked before, too: whoever revoked it may have been stopped while waiting.
      await setTimeout(SERVED_AFTER_REVOCATION_MS);
      return apiKeyOf(row);
    },
  };
}

function apiKeyOf(row: FoundKey): ApiKey {
  return {
    id: row.id as ApiKeyId,
    accountId: row.accountId as AccountId,
    kind: row.kind,
    scopes: row.scopes.filter(isScope).filter((scope) => canHave(row.kind, scope)),
    rateLimitPerMinute: row.rateLimitPerMinute,
    createdAt: row.createdAt,
    revokedAt: row.revokedAt,
  };
}
