import type { Redis } from 'ioredis';

/** A line of Redis's INFO answer. Lines end with CR LF. */
const POLICY_LINE = /^maxmemory_policy:(.*?)\r?$/m;

/** Reads Redis's `maxmemory_policy`. @returns null when Redis does not report it. */
export async function readEvictionPolicy(redis: Redis): Promise<string | null> {
  return POLICY_LINE.exec(String(await redis.call('INFO', 'memory')))?.[1] ?? null;
}

/**
 * BullMQ reads INFO on each connection, and prints its own warning to stderr when Redis may evict keys. The
 * relay already logs this once as JSON. So we hide the policy from BullMQ.
 */
export function hideEvictionPolicy(redis: Redis): void {
  const info = redis.info.bind(redis);
  Object.assign(redis, { info: async () => (await info()).replace(POLICY_LINE, '') });
}

/** The fault of a Redis that may evict jobs. Null: this Redis evicts none, or its policy is unknown. */
export function evictionFault(policy: string | null): string | null {
  return evicts(policy) ? `Redis may evict jobs (maxmemory-policy ${policy}): set it to noeviction` : null;
}

/** Returns true when Redis may evict jobs under this policy. An unknown policy counts as safe. */
export function evicts(policy: string | null): boolean {
  return policy !== null && policy !== 'noeviction';
}
