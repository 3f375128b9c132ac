import type { ApiKey } from '@postrider/store';

/** A key in the output of `--json`. Times are ISO 8601 UTC. */
export function keyObject(key: ApiKey) {
  return {
    id: key.id,
    account: key.accountId,
    name: key.name,
    kind: key.kind,
    scopes: key.scopes,
    /** Requests per minute. null: the limit of the installation. */
    rate_limit: key.rateLimitPerMinute,
    created_at: key.createdAt.toISOString(),
    /** null: the key never expires. */
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    /** The start of the UTC hour of the last use. null: never used. */
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}
