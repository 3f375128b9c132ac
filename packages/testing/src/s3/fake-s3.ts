import { AWS_ENVIRONMENT, requestsOf, startFakeService } from '../fake-service.ts';
import type { ServiceReaction } from '../fake-service.ts';
import { perform, readRequest } from './operations.ts';
import type { FakeS3Object, S3Operation, S3Request } from './operations.ts';
import { s3Error } from './reactions.ts';

/**
 * Amazon S3 over plain HTTP on loopback, with the operations of `S3Operation` and buckets addressed by path. It
 * accepts every signature, and every bucket exists.
 *
 * @example
 * const s3 = await startFakeS3();
 * s3.objects.set('inbound-mail/a-key', { bytes: raw, lastModified: new Date() });
 * const inbound = await system.start('inbound', { BLOB_STORE: 's3://blobs/mail', ...s3.environment });
 * s3.fail(s3Error(503, 'SlowDown'), { operation: 'PutObject', times: 2 });
 * …
 * await s3.close();
 */
export interface FakeS3 {
  /** Environment variables that send the AWS SDK of a process here, with credentials. */
  readonly environment: Readonly<Record<string, string>>;
  /** The objects by `bucket/key`. A test may change them. */
  readonly objects: Map<string, FakeS3Object>;
  /** All whole requests so far. */
  readonly requests: readonly S3Request[];
  /** The number of open TCP connections. */
  readonly openSockets: number;
  /** Makes requests fail: those of one operation or all, the next `times` or all until `heal`. */
  fail(reaction: ServiceReaction, which?: { operation?: S3Operation; times?: number }): void;
  /** Ends every failure. */
  heal(): void;
  /** Waits until `count` requests of an operation have arrived since the start. */
  waitForRequests(operation: S3Operation, count: number, withinMs?: number): Promise<S3Request[]>;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

interface Failure {
  readonly reaction: ServiceReaction;
  readonly operation: S3Operation | undefined;
  timesLeft: number;
}

export async function startFakeS3(): Promise<FakeS3> {
  const requests: S3Request[] = [];
  const objects = new Map<string, FakeS3Object>();
  const failures: Failure[] = [];

  const listening = await startFakeService((request, body, response) => {
    const asked = readRequest(request.method ?? '', request.url ?? '', request.headers);
    if (asked === null) {
      s3Error(405, 'MethodNotAllowed')(response);
      return;
    }
    requests.push(asked);
    (nextFailure(asked.operation) ?? perform(asked, body, objects))(response);
  });

  function nextFailure(asked: S3Operation): ServiceReaction | undefined {
    const failure = failures.find(
      ({ operation, timesLeft }) => timesLeft > 0 && (operation === undefined || operation === asked),
    );
    if (failure === undefined) return undefined;
    failure.timesLeft -= 1;
    return failure.reaction;
  }

  const { port } = listening;

  return {
    environment: {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
      ...AWS_ENVIRONMENT,
    },
    requests,
    objects,
    get openSockets() {
      return listening.openSockets;
    },
    fail: (reaction, { operation, times = Infinity } = {}) =>
      void failures.push({ reaction, operation, timesLeft: times }),
    heal: () => void failures.splice(0),
    waitForRequests: (operation, count, withinMs) => requestsOf(requests, operation, count, withinMs),
    close: listening.close,
  };
}
