import { readFile } from 'node:fs/promises';
import type { Clock } from '@postrider/domain';
import { certificateFromPem, fetchedCertificates } from '@postrider/notifications';
import type { HttpsGet, SigningCertificates, SnsTrust } from '@postrider/notifications';
import { createBoundedGet } from '@postrider/outbound';
import type { ApiConfiguration } from './config.ts';

/** A certificate has some 2 KiB, and so has the answer to a confirmation. SNS waits 15 s for ours. */
const FETCH = { timeoutMs: 5_000, bodyBytesMax: 64 * 1024 };

/** Whom the API believes when a message says that it comes of SNS, and how it asks SNS itself. */
export interface SnsAccess {
  readonly trust: SnsTrust;
  readonly get: HttpsGet;
  /** Where mail that SES received may be: `INBOUND_S3_BUCKETS`. */
  readonly mailBuckets: ReadonlySet<string>;
}

export type StartableSnsAccess = SnsAccess & {
  /** Reads `SNS_SIGNING_CERT_FILE`, if there is one. @throws Error when it cannot be read or holds no certificate. */
  start(): Promise<void>;
};

/** @param boundedGet how SNS is reached; another one only where somebody plays SNS. */
export function createSnsAccess(
  config: Pick<ApiConfiguration, 'snsTopicArns' | 'snsAllowSha1' | 'snsSigningCertFile' | 'inboundS3Buckets'>,
  clock: Clock,
  boundedGet: (limits: typeof FETCH) => HttpsGet = createBoundedGet,
): StartableSnsAccess {
  const get = boundedGet(FETCH);
  const { snsSigningCertFile: file } = config;
  let certificates: SigningCertificates = fetchedCertificates({ get, clock });
  return {
    get,
    mailBuckets: new Set(config.inboundS3Buckets),
    trust: {
      topics: new Set(config.snsTopicArns),
      certificates: { find: (url) => certificates.find(url) },
      allowSha1: config.snsAllowSha1,
      clock,
    },
    async start() {
      if (file !== undefined) certificates = certificateFromPem(await readFile(file, 'utf8'));
    },
  };
}
