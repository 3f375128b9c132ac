import type { AccountId } from '@postrider/domain';
import type { PoolClient } from 'pg';
import { lockAccount } from '../db/sql/lock-account.ts';
import { run } from '../db/statement.ts';
import { countDomains } from './sql/domains.ts';

/** How many domains an account may have at the most. */
export interface DomainLimits {
  /** Each of them is an identity of the provider, which gives all accounts together only so many. */
  readonly all: number;
  /** Of those: not verified. */
  readonly unverified: number;
}

/** The account has `max` such domains, or more. */
export interface DomainLimitReached {
  readonly kind: 'limit-reached';
  readonly limit: keyof DomainLimits;
  readonly max: number;
}

/**
 * Locks the account, then counts: it sees what those who held the lock before have added and reserved.
 *
 * @param name that is to be added, and does not count itself.
 * @param limits of an account that has none of its own.
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

interface OwnLimits {
  readonly domainsMax: number | null;
  readonly unverifiedDomainsMax: number | null;
}
