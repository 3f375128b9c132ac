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

const DAY_MS = 86_400_000;
const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** The content of a certificate. By default it is valid from yesterday until tomorrow. */
export interface CertificateRequest {
  /** DNS names; one may be a wildcard. */
  readonly names?: readonly string[];
  /** IP literals, without brackets. */
  readonly addresses?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** Default: ECDSA with P-256. */
  readonly algorithm?: webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams;
  /** True for a certificate that signs others. Default: a server's certificate. */
  readonly isAuthority?: boolean;
}

export interface Certificate {
  readonly certPem: string;
  /** PKCS #8. */
  readonly keyPem: string;
  /** The distinguished name. */
  readonly subject: string;
  readonly keys: webcrypto.CryptoKeyPair;
}

/**
 * Makes keys and their certificate in memory.
 *
 * @param issuer signs the certificate; without it, the certificate is self-signed
 */
export async function issueCertificate(
  request: CertificateRequest,
  issuer?: Pick<Certificate, 'subject' | 'keys'>,
): Promise<Certificate> {
  cryptoProvider.set(webcrypto as unknown as Parameters<typeof cryptoProvider.set>[0]);
  const { names = [], addresses = [], algorithm = ECDSA, isAuthority = false } = request;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  // Each subject is unique. Clients take two certificates with one subject for one with a changed key.
  const subject = `CN=${names[0] ?? addresses[0] ?? 'localhost'} ${randomBytes(4).toString('hex')}`;
  const usage = isAuthority
    ? new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true)
    : new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]);
  const certificate = await X509CertificateGenerator.create({
    serialNumber: `00${randomBytes(15).toString('hex')}`, // the first byte makes it positive
    subject,
    issuer: issuer?.subject ?? subject,
    notBefore: request.notBefore ?? new Date(Date.now() - DAY_MS),
    notAfter: request.notAfter ?? new Date(Date.now() + DAY_MS),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: issuer?.keys.privateKey ?? keys.privateKey,
    extensions: [
      new BasicConstraintsExtension(isAuthority, isAuthority ? 0 : undefined, isAuthority),
      usage,
      new SubjectAlternativeNameExtension([
        ...names.map((value) => ({ type: 'dns' as const, value })),
        ...addresses.map((value) => ({ type: 'ip' as const, value })),
      ]),
    ],
  });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    certPem: certificate.toString('pem'),
    keyPem: PemConverter.encode(pkcs8, 'PRIVATE KEY'),
    subject,
    keys,
  };
}
