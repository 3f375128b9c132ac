import { readFile } from 'node:fs/promises';
import type { Clock } from '@postrider/domain';
import { certificateFromPem, fetchedCertificates } from '@postrider/notifications';
import type { HttpsGet, SigningCertificates, SnsTrust } from '@postrider/notifications';
import { createBoundedGet } from '@postrider/outbound';
import type { ConfigurationOf } from '@postrider/runtime';

/** A certificate and a confirmation answer have about 2 KiB each. SNS waits 15 s for our answer. */
const FETCH = { timeoutMs: 5_000, bodyBytesMax: 64 * 1024 };

/** The parts that the route of SNS needs. */
export type SnsAccess = Omit<ReturnType<typeof createSnsAccess>, 'start'>;

/**
 * How the API verifies SNS messages, and how it sends requests to SNS.
 *
 * @param boundedGet sends the requests to SNS; tests pass a fake.
 */
export function createSnsAccess(
  config: Pick<
    ConfigurationOf<'api'>,
    'snsTopicArns' | 'snsAllowSha1' | 'snsSigningCertFile' | 'inboundS3Buckets'
  >,
  clock: Clock,
  boundedGet: (limits: typeof FETCH) => HttpsGet = createBoundedGet,
) {
  const get = boundedGet(FETCH);
  const { snsSigningCertFile: file } = config;
  let certificates: SigningCertificates = fetchedCertificates({ get });
  return {
    get,
    /** SES may store received mail only in these buckets: `INBOUND_S3_BUCKETS`. */
    mailBuckets: new Set(config.inboundS3Buckets),
    trust: {
      topics: new Set(config.snsTopicArns),
      certificates: { find: (url) => certificates.find(url) },
      allowSha1: config.snsAllowSha1,
      clock,
    } satisfies SnsTrust,
    /**
     * Reads `SNS_SIGNING_CERT_FILE`, if it is set.
     * @throws Error when the file is unreadable or no certificate.
     */
    async start() {
      if (file !== undefined) certificates = certificateFromPem(await readFile(file, 'utf8'));
    },
  };
}
