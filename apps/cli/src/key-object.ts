import type { ApiKey } from '@postrider/store';

/** A key as `--json` shows it. Times are ISO 8601 UTC. */
export function keyObject(key: ApiKey) {
  return {
    id: key.id,
    account: key.accountId,
    kind: key.kind,
    scopes: key.scopes,
    /** Requests per minute; null: the deployment's limit. */
    rate_limit: key.rateLimitPerMinute,
    created_at: key.createdAt.toISOString(),
    revoked_at: key.revokedAt?.toISOString() ?? null,
  };
}
