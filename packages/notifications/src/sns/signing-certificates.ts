import { X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { HttpsGet } from './https-get.ts';

/** Finds the certificate for a signature. */
export interface SigningCertificates {
  /** @param url an address that {@link parseSigningCertUrl} has accepted. */
  find(url: URL): Promise<CertificateAnswer>;
}

export type CertificateAnswer =
  | { readonly kind: 'found'; readonly certificate: X509Certificate }
  /** The certificate is not available now. A later call may succeed. */
  | { readonly kind: 'unavailable'; readonly why: string };

/** A day. An address always has the same certificate, but AWS may withdraw it. */
const KEPT_MS = 24 * 60 * 60_000;
/** Long enough that forged messages cause few requests. SNS repeats a refused message later: after 20 s. */
const FAILURE_KEPT_MS = 5_000;
/** Each region uses one or two certificates at a time. */
const CERTIFICATES_MAX = 32;
const FAILURES_MAX = 1000;
/** Attackers can name certificates that do not exist. This limits the requests to SNS in flight. */
const FETCHES_MAX = 8;

/**
 * Fetches and caches certificates. Calls for the same certificate share one request. Failures have a cache of
 * their own, so invented names never evict a real certificate.
 */
export function fetchedCertificates({ get }: { readonly get: HttpsGet }): SigningCertificates {
  const certificates = new LRUCache<string, CertificateAnswer>({ max: CERTIFICATES_MAX, ttl: KEPT_MS });
  const failures = new LRUCache<string, CertificateAnswer>({ max: FAILURES_MAX, ttl: FAILURE_KEPT_MS });
  const inFlight = new Map<string, Promise<CertificateAnswer>>();

  async function fetchAndKeep(url: URL): Promise<CertificateAnswer> {
    try {
      const answer = await fetchCertificate(url, get);
      (answer.kind === 'found' ? certificates : failures).set(url.href, answer);
      return answer;
    } finally {
      inFlight.delete(url.href);
    }
  }

  async function find(url: URL): Promise<CertificateAnswer> {
    const known = certificates.get(url.href) ?? failures.get(url.href) ?? inFlight.get(url.href);
    if (known !== undefined) return known;
    if (inFlight.size >= FETCHES_MAX)
      return { kind: 'unavailable', why: 'too many certificates are being fetched' };
    const answer = fetchAndKeep(url);
    inFlight.set(url.href, answer);
    return answer;
  }

  return { find };
}

async function fetchCertificate(url: URL, get: HttpsGet): Promise<CertificateAnswer> {
  const answer = await get(url);
  if (answer.kind === 'failed') return { kind: 'unavailable', why: answer.error };
  if (answer.statusCode !== 200) return { kind: 'unavailable', why: `HTTP ${answer.statusCode}` };
  const certificate = readCertificate(answer.body);
  return certificate === null
    ? { kind: 'unavailable', why: 'what was fetched is no RSA certificate' }
    : { kind: 'found', certificate };
}

/**
 * One certificate for every address, for development. It replaces only the fetch: the message's address and
 * the certificate's dates are still checked.
 *
 * @param pem the content of `SNS_SIGNING_CERT_FILE`.
 * @throws Error when the text is not an RSA certificate in PEM.
 */
export function certificateFromPem(pem: string): SigningCertificates {
  const certificate = readCertificate(Buffer.from(pem));
  if (certificate === null) throw new Error('it holds no RSA certificate in PEM');
  return { find: async () => ({ kind: 'found', certificate }) };
}

/** SNS signs only with RSA. Other keys do not fit the digests of its two signature versions. */
function readCertificate(bytes: Uint8Array): X509Certificate | null {
  try {
    const certificate = new X509Certificate(bytes);
    return certificate.publicKey.asymmetricKeyType === 'rsa' ? certificate : null;
  } catch {
    return null;
  }
}
