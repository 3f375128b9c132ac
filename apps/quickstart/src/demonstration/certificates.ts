import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Certificate, issueCertificate } from '@postrider/embedded';

const VALID_MS = 365 * 86_400_000;

/** Makes a self-signed server certificate for 127.0.0.1. It cannot sign other certificates. */
export function makeLoopbackCertificate(now: Date): Promise<Certificate> {
  return issueCertificate({ addresses: ['127.0.0.1'], notAfter: new Date(now.getTime() + VALID_MS) });
}

/**
 * Writes the certificates that the worker trusts besides the public ones: ours, and those in the user's
 * NODE_EXTRA_CA_CERTS. Node reads only one such file.
 */
export function writeTrustFile(dataDir: string, certPem: string, userFile: string | undefined): string {
  const file = join(dataDir, 'quickstart-ca.pem');
  writeFileSync(file, [certPem, userFile === undefined ? '' : readUserFile(userFile)].join('\n'));
  return file;
}

function readUserFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // Node ignores a missing file, too, and has already warned on stderr
  }
}
