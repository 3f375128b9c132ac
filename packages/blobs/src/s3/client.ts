import { S3Client } from '@aws-sdk/client-s3';
import { BoundedCalls } from '@postrider/limits';

/** Pass these to every command of a call: the abort closes the connection. */
export interface CommandOptions {
  readonly abortSignal: AbortSignal;
}

const TRIES = 3;
/** The share of the time limit that the tries get. Credentials and pauses between tries need the rest. */
const TRIES_SHARE = 0.9;
/** A host that accepts no connection within this time is away. */
const CONNECT_TIMEOUT_MS = 5000;
const CONNECTIONS_MAX = 64;

/**
 * The SDK reads credentials, region and the endpoint of an S3 that is not AWS from its own variables and
 * files. It reads them at the first call, not in the constructor.
 */
export class BoundedS3Client {
  readonly #sdk: S3Client;
  readonly #calls: BoundedCalls;

  /** @param timeoutMs limits a call with all its tries. */
  constructor(timeoutMs: number) {
    this.#sdk = createSdkClient(timeoutMs);
    // The SDK's own limits bound only its requests. This limit includes credentials and pauses between tries.
    this.#calls = new BoundedCalls(timeoutMs, () => new Error(`not done in ${timeoutMs} ms`));
  }

  /**
   * @throws Error when the time limit of the call is over, or the client was closed
   * @throws every error of the SDK
   */
  call<Answer>(work: (sdk: S3Client, callOptions: CommandOptions) => Promise<Answer>): Promise<Answer> {
    return this.#calls.run((abortSignal) => work(this.#sdk, { abortSignal }));
  }

  /** Aborts running calls. A later call fails at once. */
  close(): void {
    this.#calls.close(new Error('the store was closed'));
    this.#sdk.destroy();
  }
}

function createSdkClient(timeoutMs: number): S3Client {
  const tryMs = Math.max(1, Math.floor((timeoutMs * TRIES_SHARE) / TRIES));
  const sdk = new S3Client({
    maxAttempts: TRIES,
    retryMode: 'standard',
    expectContinueHeader: false, // with it, the SDK opens a new connection for each request
    requestChecksumCalculation: 'WHEN_REQUIRED', // our put command has the SHA-256 itself
    responseChecksumValidation: 'WHEN_REQUIRED', // a range of an object has no checksum
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

/** AWS needs `bucket.host`. Other servers rarely support it. So a custom endpoint gets `host/bucket`. */
function addressBucketsByPath(sdk: S3Client): void {
  const { endpointProvider } = sdk.config;
  sdk.config.endpointProvider = (params, context) =>
    endpointProvider(params.Endpoint === undefined ? params : { ...params, ForcePathStyle: true }, context);
}
