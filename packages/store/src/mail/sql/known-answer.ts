import type { Statement } from '../../db/statement.ts';

/**
 * What was answered under an idempotency key in the last 24 hours, and whether the same request was. A select of no row or one.
 *
 * @param parameters account, kind, route, key and digest.
 */
export function knownAnswer(...parameters: readonly `$${number}`[]): string {
  const [account, kind, route, key, digest] = parameters;
  return `
      select k.request_digest = ${digest}::bytea as same, k.answer
      from idempotency_keys k
      where k.account_id = ${account}::text and k.kind = ${kind}::key_kind and k.route = ${route}::text and k.key = ${key}::text
        and k.created_at > now() - interval '24 hours'`;
}

/** $1 account, $2 kind, $3 route, $4 idempotency key, $5 digest of the request. */
export const readKnownAnswer: Statement = {
  name: 'read-known-answer',
  text: knownAnswer('$1', '$2', '$3', '$4', '$5'),
};
