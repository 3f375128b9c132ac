import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A self-signed server certificate for 127.0.0.1: who trusts it trusts no other. */
export interface LoopbackCertificate {
  readonly certPem: string;
  /** PKCS #8. */
  readonly keyPem: string;
}

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Makes a new certificate, in memory. */
export async function makeLoopbackCertificate(now: Date): Promise<LoopbackCertificate> {
  cryptoProvider.set(webcrypto as unknown as Parameters<typeof cryptoProvider.set>[0]);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    // A unique name: clients would take two certificates with one name for one that changed its key.
    name: `CN=Postrider quickstart ${randomBytes(4).toString('hex')}`,
    notBefore: new Date(now.getTime() - DAY_MS),
    notAfter: new Date(now.getTime() + VALID_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new BasicConstraintsExtension(false),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
    ],
  });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certPem: certificate.toString('pem'), keyPem: PemConverter.encode(pkcs8, 'PRIVATE KEY') };
}

/**
 * Writes the certificates that the worker trusts besides the public ones: ours, and those in the user's
 * NODE_EXTRA_CA_CERTS. Node reads only one such file.
 */
export function writeTrustFile(dataDir: string, certPem: string, own: string | undefined): string {
  const file = join(dataDir, 'quickstart-ca.pem');
  writeFileSync(file, [certPem, own === undefined ? '' : readOwn(own)].join('\n'));
  return file;
}

function readOwn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // Node ignores a missing file, too, and has already warned on stderr
  }
}
