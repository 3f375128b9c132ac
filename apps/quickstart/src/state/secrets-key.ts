import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createFile, readOrNull } from '@postrider/embedded';
import { StartError } from '../settings.ts';

const KEY_BYTES = 32;

/** The key that encrypts signing secrets. It is made once and kept: later starts must decrypt the secrets. */
export function keptSecretsKey(dataDir: string): string {
  const file = join(dataDir, 'secrets-key');
  // An existing file stays.
  createFile(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`, 0o600);
  const key = readOrNull(file)?.trim() ?? '';
  if (Buffer.from(key, 'base64').length !== KEY_BYTES) {
    throw new StartError(`${file} does not hold a key of ${KEY_BYTES} bytes in base64`);
  }
  return key;
}
