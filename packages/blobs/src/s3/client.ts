import { S3Client } from '@aws-sdk/client-s3';

/** Passed to every command of a call, so that breaking it off closes its connection. */
export interface CommandOptions {
  readonly abortSignal: AbortSignal;
}

export interface BoundedS3Client {
  /**
   * @throws S3Silence when the time of the call is up, or the client was closed; else whatever the SDK throws
   */
  call<Answer>(work: (sdk: S3Client, options: CommandOptions) => Promise<Answer>): Promise<Answer>;
  /** Breaks off what is running. A call that begins afterwards fails at once. */
  close(): void;
}

/** No answer in time, or none that is waited for. */
class S3Silence extends Error {
  override readonly name = 'S3Silence';
}

const TRIES = 3;
/** Of the time of a call for its tries. The rest is for credentials and for the pauses between tries. */
const TRIES_SHARE = 0.9;
/** A host that takes longer to accept a connection is away. */
const CONNECT_TIMEOUT_MS = 5000;
const CONNECTIONS_MAX = 64;

/** Reads credentials and an endpoint that is not AWS's where the SDK looks for them. None is read yet. */
export function createS3Client(options: {
  readonly region?: string | undefined;
  /** Time limit of a call, all of its tries included. */
  readonly timeoutMs: number;
}): BoundedS3Client {
  const { region, timeoutMs } = options;
  const tryMs = Math.max(1, Math.floor((timeoutMs * TRIES_SHARE) / TRIES));
  const sdk = new S3Client({
    ...(region === undefined ? {} : { region }),
    maxAttempts: TRIES,
    retryMode: 'standard',
    expectContinueHeader: false, // the SDK makes a new connection for each request with it
    requestChecksumCalculation: 'WHEN_REQUIRED', // a put brings its SHA-256 along
    responseChecksumValidation: 'WHEN_REQUIRED', // of a range there is none to check
    requestHandler: {
      connectionTimeout: Math.min(CONNECT_TIMEOUT_MS, tryMs),
      requestTimeout: tryMs,
      throwOnRequestTimeout: true, // else it only writes a warning
      httpAgent: { maxSockets: CONNECTIONS_MAX },
      httpsAgent: { maxSockets: CONNECTIONS_MAX },
    },
  });
  addressBucketsByPath(sdk);
  const running = new Set<AbortController>();
  let isClosed = false;

  return {
    async call(work) {
      if (isClosed) throw storeClosed();
      const abort = new AbortController();
      const brokenOff = new Promise<never>((_resolve, reject) => {
        abort.signal.addEventListener('abort', () => reject(abort.signal.reason as Error));
      });
      // The limit that nothing can outlast: the SDK's own start after the credentials.
      const timer = setTimeout(() => abort.abort(new S3Silence(`no answer in ${timeoutMs} ms`)), timeoutMs);
      running.add(abort);
      try {
        return await Promise.race([work(sdk, { abortSignal: abort.signal }), brokenOff]);
      } finally {
        clearTimeout(timer);
        running.delete(abort);
      }
    },
    close() {
      isClosed = true;
      for (const abort of running) abort.abort(storeClosed());
      sdk.destroy();
    },
  };
}

function storeClosed(): S3Silence {
  return new S3Silence('the store was closed');
}

/** Servers that are not AWS's rarely answer to `bucket.host`. AWS wants that form. */
function addressBucketsByPath(sdk: S3Client): void {
  const { endpointProvider } = sdk.config;
  sdk.config.endpointProvider = (params, context) =>
    endpointProvider(params.Endpoint === undefined ? params : { ...params, ForcePathStyle: true }, context);
}
