import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createFile, readOrNull } from '@postrider/embedded';
import type { Settings } from '../settings.ts';

/** The operator who may sign in to the console. */
export interface ConsoleAccess {
  /** The value of CONSOLE_KEYS. */
  readonly keys: string;
  /** The key to print. Null: the user has set CONSOLE_KEYS, and knows the keys. */
  readonly key: string | null;
}

/** The user's CONSOLE_KEYS, or a key that is made once and kept. */
export function openConsole({ env, dataDir }: Pick<Settings, 'env' | 'dataDir'>): ConsoleAccess {
  const given = env['CONSOLE_KEYS'];
  if (given !== undefined) return { keys: given, key: null };
  const file = join(dataDir, 'console-key');
  // An existing file stays.
  createFile(file, `pr_console_${randomBytes(32).toString('base64url')}\n`, 0o600);
  const key = (readOrNull(file) ?? '').trim();
  const digest = createHash('sha256').update(key).digest('hex');
  return { keys: `operator:operator:${digest}`, key };
}
