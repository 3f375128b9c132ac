import { X509Certificate } from 'node:crypto';
import type { Clock } from '@postrider/domain';
import { LRUCache } from 'lru-cache';
import type { HttpsGet } from './https-get.ts';

/** Where signatures find the certificate they are checked with. */
export interface SigningCertificates {
  /** @param url an address that {@link parseSigningCertUrl} has let through */
  find(url: URL): Promise<CertificateAnswer>;
}

export type CertificateAnswer =
  | { readonly kind: 'found'; readonly certificate: X509Certificate }
  /** Not to be had now; whoever asks again may get it. */
  | { readonly kind: 'unavailable'; readonly why: string };

/** A certificate's name is made of its content, so what lies at an address does not change; it may be withdrawn. */
const keptMs = 24 * 60 * 60_000;
/** Long enough that a run of forged messages costs few requests, short enough that SNS's next try succeeds. */
const failureKeptMs = 5000;
/** Each region uses one or two at a time. */
const certificatesMax = 32;
const failuresMax = 1000;
/** Anybody may name certificates that do not exist: so many questions at a time are put to SNS. */
const fetchesMax = 8;

/**
 * Fetches certificates and keeps them. Those who ask for the same one share one request. Failures are kept apart from
 * certificates, so that made-up names never push out a real one.
 */
export function fetchedCertificates({ get, clock }: { get: HttpsGet; clock: Clock }): SigningCertificates {
  const perf = { now: () => clock.now().getTime() };
  const kept = new LRUCache<string, CertificateAnswer>({
    max: certificatesMax,
    ttl: keptMs,
    ttlResolution: 0,
    perf,
  });
  const failures = new LRUCache<string, CertificateAnswer>({
    max: failuresMax,
    ttl: failureKeptMs,
    ttlResolution: 0,
    perf,
  });
  const underWay = new Map<string, Promise<CertificateAnswer>>();

  async function fetchAndKeep(url: URL): Promise<CertificateAnswer> {
    try {
      const answer = await fetchCertificate(url, get);
      (answer.kind === 'found' ? kept : failures).set(url.href, answer);
      return answer;
    } finally {
      underWay.delete(url.href);
    }
  }

  async function find(url: URL): Promise<CertificateAnswer> {
    const known = kept.get(url.href) ?? failures.get(url.href) ?? underWay.get(url.href);
    if (known !== undefined) return known;
    if (underWay.size >= fetchesMax)
      return { kind: 'unavailable', why: 'too many certificates are being fetched' };
    const answer = fetchAndKeep(url);
    underWay.set(url.href, answer);
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
 * One certificate for every address, for development: it replaces the fetch and nothing else. The address in the
 * message is still judged, and so are the certificate's dates.
 *
 * @param pem the content of `SNS_SIGNING_CERT_FILE`
 * @throws Error when it is no certificate
 */
export function certificateFromPem(pem: string): SigningCertificates {
  const certificate = readCertificate(Buffer.from(pem));
  if (certificate === null) throw new Error('it holds no RSA certificate in PEM');
  return { find: async () => ({ kind: 'found', certificate }) };
}

/** SNS signs with RSA only. Another kind of key could not be used with the digests of its two versions. */
function readCertificate(bytes: Uint8Array): X509Certificate | null {
  try {
    const certificate = new X509Certificate(bytes);
    return certificate.publicKey.asymmetricKeyType === 'rsa' ? certificate : null;
  } catch {
    return null;
  }
}
