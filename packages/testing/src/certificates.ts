import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const dayMs = 86_400_000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A server's private key (PKCS #8) and certificate, both PEM, for `tls.createServer`. */
export interface TestCertificate {
  keyPem: string;
  certPem: string;
}

/** The names of a certificate. It is valid from yesterday until tomorrow by default. */
export interface TestCertificateRequest {
  /** DNS names; one may be a wildcard. */
  names?: string[];
  /** IP literals, without brackets. */
  addresses?: string[];
  notBefore?: Date;
  notAfter?: Date;
}

/** A test's own certificate authority. Clients trust `caPem`; receivers show issued certificates. */
export interface TestAuthority {
  caPem: string;
  issue(request: TestCertificateRequest): Promise<TestCertificate>;
  /** A certificate that no authority signed. */
  selfSigned(request: TestCertificateRequest): Promise<TestCertificate>;
}

/** Makes a new authority (ECDSA P-256) in memory; nothing is written to disk. */
export async function createTestAuthority(): Promise<TestAuthority> {
  cryptoProvider.set(webcrypto as unknown as Parameters<typeof cryptoProvider.set>[0]);
  const keys = await generateKeys();
  // A unique name: clients would take two authorities with one name for one that changed its key.
  const name = `CN=Test Authority ${randomBytes(4).toString('hex')}`;
  const extensions = [
    new BasicConstraintsExtension(true, 0, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  ];
  const authority = await sign({
    subject: name,
    issuer: name,
    subjectKeys: keys,
    issuerKeys: keys,
    extensions,
  });
  return {
    caPem: authority.toString('pem'),
    issue: (request) => issueServer(request, { name, keys }),
    selfSigned: (request) => issueServer(request, null),
  };
}

interface Issuer {
  name: string;
  keys: webcrypto.CryptoKeyPair;
}

async function issueServer(request: TestCertificateRequest, issuer: Issuer | null): Promise<TestCertificate> {
  const keys = await generateKeys();
  const names = request.names ?? [];
  const addresses = request.addresses ?? [];
  const subject = `CN=${names[0] ?? addresses[0] ?? 'localhost'}`;
  const certificate = await sign({
    subject,
    issuer: issuer?.name ?? subject,
    subjectKeys: keys,
    issuerKeys: issuer?.keys ?? keys,
    notBefore: request.notBefore,
    notAfter: request.notAfter,
    extensions: [
      new BasicConstraintsExtension(false),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([
        ...names.map((value) => ({ type: 'dns' as const, value })),
        ...addresses.map((value) => ({ type: 'ip' as const, value })),
      ]),
    ],
  });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { keyPem: PemConverter.encode(pkcs8, 'PRIVATE KEY'), certPem: certificate.toString('pem') };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function sign(certificate: {
  subject: string;
  issuer: string;
  subjectKeys: webcrypto.CryptoKeyPair;
  issuerKeys: webcrypto.CryptoKeyPair;
  extensions: Extension[];
  notBefore?: Date | undefined;
  notAfter?: Date | undefined;
}): Promise<X509Certificate> {
  return X509CertificateGenerator.create({
    serialNumber: `00${randomBytes(15).toString('hex')}`,
    subject: certificate.subject,
    issuer: certificate.issuer,
    notBefore: certificate.notBefore ?? new Date(Date.now() - dayMs),
    notAfter: certificate.notAfter ?? new Date(Date.now() + dayMs),
    signingAlgorithm: algorithm,
    publicKey: certificate.subjectKeys.publicKey,
    signingKey: certificate.issuerKeys.privateKey,
    extensions: certificate.extensions,
  });
}
