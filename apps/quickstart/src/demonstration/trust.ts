import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes the file that the worker trusts on top of the public authorities: ours, and those of the person's own
 * NODE_EXTRA_CA_CERTS, because Node reads one file only.
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
    return ''; // Node goes on without it as well, and has already said so on stderr
  }
}
