import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Extension } from '@peculiar/x509';

/** A server certificate for 127.0.0.1 and the authority that signed it. The authority's key is not kept. */
export interface LoopbackCertificate {
  readonly authorityPem: string;
  readonly certPem: string;
  /** PKCS #8. */
  readonly keyPem: string;
}

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Makes a new authority and a new certificate, in memory. */
export async function makeLoopbackCertificate(now: Date): Promise<LoopbackCertificate> {
  cryptoProvider.set(webcrypto as unknown as Parameters<typeof cryptoProvider.set>[0]);
  const [authority, server] = await Promise.all([makeKeys(), makeKeys()]);
  // A unique name: clients would take two authorities with one name for one that changed its key.
  const issuer = `CN=Postrider quickstart ${randomBytes(4).toString('hex')}`;
  const common = { issuer, signingKey: authority.privateKey, now };
  const authorityCertificate = await sign({
    ...common,
    subject: issuer,
    publicKey: authority.publicKey,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  const serverCertificate = await sign({
    ...common,
    subject: 'CN=127.0.0.1',
    publicKey: server.publicKey,
    extensions: [
      new BasicConstraintsExtension(false),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
    ],
  });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', server.privateKey);
  return {
    authorityPem: authorityCertificate.toString('pem'),
    certPem: serverCertificate.toString('pem'),
    keyPem: PemConverter.encode(pkcs8, 'PRIVATE KEY'),
  };
}

function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

function sign(certificate: {
  subject: string;
  issuer: string;
  publicKey: webcrypto.CryptoKey;
  signingKey: webcrypto.CryptoKey;
  extensions: Extension[];
  now: Date;
}) {
  const { now, ...parts } = certificate;
  return X509CertificateGenerator.create({
    ...parts,
    serialNumber: `00${randomBytes(15).toString('hex')}`,
    notBefore: new Date(now.getTime() - DAY_MS),
    notAfter: new Date(now.getTime() + VALID_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
  });
}
