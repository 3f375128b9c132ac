import type { AccountId } from '@postrider/domain';
import type { PoolClient } from 'pg';
import { lockAccount } from '../db/sql/lock-account.ts';
import { run } from '../db/statement.ts';
import { countDomains } from './sql/domains.ts';

/** The maximum number of domains for one account. */
export interface DomainLimits {
  /** Each domain is an identity at the provider, which limits the identities of all accounts together. */
  readonly all: number;
  /** Domains that are not verified. */
  readonly unverified: number;
}

/** The account already has `max` such domains or more. */
export interface DomainLimitReached {
  readonly kind: 'limit-reached';
  readonly limit: keyof DomainLimits;
  readonly max: number;
}

/**
 * Locks the account, then counts. The count includes the domains that earlier holders of the lock added, and
 * those that other requests are adding now.
 *
 * @param name the domain to add. It is not counted itself.
 * @param limits apply to an account that has no limits of its own.
 */
export async function reachedDomainLimit(
  client: PoolClient,
  accountId: AccountId,
  name: string,
  limits: DomainLimits,
): Promise<DomainLimitReached | null> {
  const [own] = await run<OwnLimits>(client, lockAccount, [accountId]);
  const [held] = await run<DomainLimits>(client, countDomains, [accountId, name]);
  const unverified = own?.unverifiedDomainsMax ?? limits.unverified;
  if ((held?.unverified ?? 0) >= unverified) {
    return { kind: 'limit-reached', limit: 'unverified', max: unverified };
  }
  const all = own?.domainsMax ?? limits.all;
  return (held?.all ?? 0) >= all ? { kind: 'limit-reached', limit: 'all', max: all } : null;
}

/** Null: the account has no limit of its own. */
interface OwnLimits {
  readonly domainsMax: number | null;
  readonly unverifiedDomainsMax: number | null;
}
