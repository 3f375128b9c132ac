import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes the authorities that the worker trusts besides the public ones: ours, and those in the user's
 * NODE_EXTRA_CA_CERTS. Node reads only one such file.
 */
export function writeTrustFile(dataDir: string, authorityPem: string, own: string | undefined): string {
  const file = join(dataDir, 'quickstart-ca.pem');
  writeFileSync(file, [authorityPem, own === undefined ? '' : readOwn(own)].join('\n'));
  return file;
}

function readOwn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // Node ignores a missing file, too, and has already warned on stderr
  }
}
