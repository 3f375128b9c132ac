import type { Statement } from '../statement.ts';

/** The key with this digest, unless it was revoked: asked for by every request. $1 SHA-256 of the key. */
export const findApiKey: Statement = {
  name: 'find-api-key',
  text: `
    select id, account_id as "accountId", kind, scopes, rate_limit_per_minute as "rateLimitPerMinute",
           created_at as "createdAt", revoked_at as "revokedAt"
    from api_keys
    where digest = $1 and revoked_at is null`,
};
