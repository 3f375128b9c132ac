import { S3Client } from '@aws-sdk/client-s3';
import { BoundedCalls } from '@postrider/limits';

/** Pass it to every command of a call: the abort closes the connection. */
export interface CommandOptions {
  readonly abortSignal: AbortSignal;
}

/** S3 did not answer in time, or the client was closed. */
class S3Silence extends Error {
  override readonly name = 'S3Silence';
}

const TRIES = 3;
/** The share of the time limit that the tries get. Credentials and pauses between tries need the rest. */
const TRIES_SHARE = 0.9;
/** A host that accepts no connection within this time is away. */
const CONNECT_TIMEOUT_MS = 5000;
const CONNECTIONS_MAX = 64;

export interface BoundedS3ClientOptions {
  /** Time limit of a call with all its tries. */
  readonly timeoutMs: number;
}

/** The SDK finds credentials, region, and the endpoint of an S3 that is not AWS. It reads none yet. */
export class BoundedS3Client {
  readonly #sdk: S3Client;
  readonly #calls: BoundedCalls;

  constructor(options: BoundedS3ClientOptions) {
    const { timeoutMs } = options;
    this.#sdk = createSdkClient(options);
    // This limit bounds everything, even the SDK's own work after it has the credentials.
    this.#calls = new BoundedCalls(timeoutMs, () => new S3Silence(`no answer in ${timeoutMs} ms`));
  }

  /**
   * @throws S3Silence when the time limit of the call is over, or the client was closed
   * @throws every error of the SDK
   */
  call<Answer>(work: (sdk: S3Client, options: CommandOptions) => Promise<Answer>): Promise<Answer> {
    return this.#calls.run((abortSignal) => work(this.#sdk, { abortSignal }));
  }

  /** Aborts running calls. A later call fails at once. */
  close(): void {
    this.#calls.close(new S3Silence('the store was closed'));
    this.#sdk.destroy();
  }
}

function createSdkClient({ timeoutMs }: BoundedS3ClientOptions): S3Client {
  const tryMs = Math.max(1, Math.floor((timeoutMs * TRIES_SHARE) / TRIES));
  const sdk = new S3Client({
    maxAttempts: TRIES,
    retryMode: 'standard',
    expectContinueHeader: false, // with it, the SDK opens a new connection for each request
    requestChecksumCalculation: 'WHEN_REQUIRED', // a put sends its SHA-256 itself
    responseChecksumValidation: 'WHEN_REQUIRED', // a range has no checksum
    requestHandler: {
      connectionTimeout: Math.min(CONNECT_TIMEOUT_MS, tryMs),
      requestTimeout: tryMs,
      throwOnRequestTimeout: true, // by default the SDK only warns
      httpAgent: { maxSockets: CONNECTIONS_MAX },
      httpsAgent: { maxSockets: CONNECTIONS_MAX },
    },
  });
  addressBucketsByPath(sdk);
  return sdk;
}

/** Other servers than AWS rarely support `bucket.host`. AWS wants that form. */
function addressBucketsByPath(sdk: S3Client): void {
  const { endpointProvider } = sdk.config;
  sdk.config.endpointProvider = (params, context) =>
    endpointProvider(params.Endpoint === undefined ? params : { ...params, ForcePathStyle: true }, context);
}
