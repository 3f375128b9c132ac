import { findRedisServer, startRedis } from '@postrider/embedded';
import type { Environment } from '@postrider/runtime';
import { StartError } from '../settings.ts';
import type { Settings } from '../settings.ts';
import type { RunningFile } from '../state/running-file.ts';
import type { Terminal } from '../terminal.ts';
import { naming, runPostrider } from './command-line.ts';

/**
 * Uses the Redis of REDIS_URL, or with `--redis` starts one that stores nothing. Otherwise there is no Redis,
 * `url` is undefined, and the queue is in Postgres.
 */
export async function supplyRedis(
  settings: Settings,
  running: RunningFile,
  terminal: Terminal,
): Promise<{ readonly url: string | undefined; stop?(): Promise<void> }> {
  if (settings.redisUrl !== undefined) {
    terminal.say('start', 'queue: the Redis of REDIS_URL');
    running.note({ redisUrl: settings.redisUrl });
    return { url: settings.redisUrl };
  }
  if (!settings.ownRedis) {
    const where = settings.databaseUrl === undefined ? 'PostgreSQL (embedded)' : 'PostgreSQL';
    terminal.say('start', `queue: ${where}. For Redis: REDIS_URL=redis://host:6379 npm start`);
    return { url: undefined };
  }
  if (findRedisServer() === null) {
    throw new StartError(
      'neither redis-server nor valkey-server is on PATH; apt-get install redis-server, or brew install redis, ' +
        'or docker run -d -p 127.0.0.1:6379:6379 redis:8 and set REDIS_URL=redis://127.0.0.1:6379',
    );
  }
  const redis = await terminal.during('starting Redis', () => startRedis());
  terminal.say(
    'start',
    `queue: Redis runs on port ${redis.port} (process ${redis.pid}); it keeps nothing on disk`,
  );
  running.note({ redisUrl: redis.url });
  return redis;
}

/**
 * Checks that Redis answers. Other faults of Redis do not stop the start: the relay repairs or logs them.
 *
 * @throws StartError. When the user set REDIS_URL, the StartError names it.
 */
export async function checkRedis(settings: Settings, env: Environment, terminal: Terminal): Promise<void> {
  await terminal.during('asking Redis', () =>
    naming(settings.redisUrl === undefined ? null : 'REDIS_URL', async () => {
      const { stdout, error } = await runPostrider(settings.distDir, ['status', '--stopped'], env);
      if (error !== null && !redisAnswers(stdout)) throw error;
    }),
  );
}

/** @param status the document of `postrider status`, or other text that a failed command printed. */
function redisAnswers(status: string): boolean {
  try {
    const document = JSON.parse(status) as { readonly redis?: { readonly reachable: boolean } | null } | null;
    return document?.redis?.reachable === true;
  } catch {
    return false;
  }
}
