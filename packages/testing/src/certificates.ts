import { type Certificate, type CertificateRequest, issueCertificate } from '@postrider/embedded';

/** A server's private key (PKCS #8) and certificate, both PEM, for `tls.createServer`. */
export type TestCertificate = Pick<Certificate, 'certPem' | 'keyPem'>;

/** A test's own certificate authority. Clients trust `caPem`; receivers show issued certificates. */
export interface TestAuthority {
  caPem: string;
  issue(request: CertificateRequest): Promise<TestCertificate>;
  /** A certificate that no authority signed. */
  selfSigned(request: CertificateRequest): Promise<TestCertificate>;
}

/** Makes a new authority in memory; nothing is written to disk. */
export async function createTestAuthority(): Promise<TestAuthority> {
  const authority = await issueCertificate({ names: ['authority.test'], isAuthority: true });
  return {
    caPem: authority.certPem,
    issue: (request) => issueCertificate(request, authority),
    selfSigned: (request) => issueCertificate(request),
  };
}
