import type { Statement } from '../../db/statement.ts';

/** The keys with these digests that are not revoked. $1 the SHA-256 of each key, each once. */
export const findApiKeys: Statement = {
  name: 'find-api-keys',
  text: `
    select id, account_id as "accountId", digest, kind, scopes, rate_limit_per_minute as "rateLimitPerMinute",
           created_at as "createdAt", revoked_at as "revokedAt"
    from api_keys
    where digest = any ($1::bytea[]) and revoked_at is null`,
};
