import { apiKeyDigest, canHave, isScope, newApiKey, newId } from '@postrider/domain';
import type { AccountId, ApiKeyId, Clock, KeyKind, Scope } from '@postrider/domain';
import type { Database } from './database.ts';
import { runOn } from './database.ts';
import { mappingUnavailable } from './errors.ts';
import type { ApiKey as ApiKeyRow } from './generated/client.ts';
import { findApiKey } from './sql/find-api-key.ts';

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
  /** The key behind the text of a request, unless unknown or revoked. */
  findActive(key: string): Promise<ApiKey | null>;
  list(accountId: AccountId): Promise<ApiKey[]>;
  /** @returns null when there is no such key; a key revoked before keeps its time. */
  revoke(id: ApiKeyId): Promise<ApiKey | null>;
}

export function createApiKeyStore(db: Database, clock: Clock): ApiKeyStore {
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
      const [row] = await runOn<Omit<ApiKeyRow, 'digest'>>(db.pool, findApiKey, [apiKeyDigest(key)]);
      return row === undefined ? null : apiKeyOf(row);
    },
    async list(accountId) {
      const rows = await mappingUnavailable(() =>
        db.prisma.apiKey.findMany({ where: { accountId }, orderBy: [{ createdAt: 'desc' }, { id: 'desc' }] }),
      );
      return rows.map(apiKeyOf);
    },
    async revoke(id) {
      return mappingUnavailable(async () => {
        await db.prisma.apiKey.updateMany({
          where: { id, revokedAt: null },
          data: { revokedAt: clock.now() },
        });
        const row = await db.prisma.apiKey.findUnique({ where: { id } });
        return row === null ? null : apiKeyOf(row);
      });
    },
  };
}

function apiKeyOf(row: Omit<ApiKeyRow, 'digest'>): ApiKey {
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
