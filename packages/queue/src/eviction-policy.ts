import type { Redis, RedisOptions } from 'ioredis';

/** Of an INFO answer, whose lines end with CR LF. */
const POLICY_LINE = /^maxmemory_policy:(.*?)\r?$/m;

/** What the server does at its memory limit. @returns null when it does not say. */
export async function readEvictionPolicy(redis: Redis): Promise<string | null> {
  return POLICY_LINE.exec(String(await redis.call('INFO', 'memory')))?.[1] ?? null;
}

/**
 * BullMQ asks for INFO on every connection that it makes, and prints a line of its own on stderr when the server may
 * evict keys. The relay says it once, as JSON. So BullMQ is not shown the policy, on this client and its duplicates.
 */
export function hideEvictionPolicy(redis: Redis): Redis {
  const info = redis.info.bind(redis);
  const duplicate = redis.duplicate.bind(redis);
  return Object.assign(redis, {
    info: async () => (await info()).replace(POLICY_LINE, ''),
    duplicate: (options?: Partial<RedisOptions>) => hideEvictionPolicy(duplicate(options)),
  });
}

/** Whether a server with this policy may throw jobs away. One that does not say is believed. */
export function evicts(policy: string | null): boolean {
  return policy !== null && policy !== 'noeviction';
}
