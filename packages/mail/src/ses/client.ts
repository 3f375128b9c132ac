import { SESv2Client } from '@aws-sdk/client-sesv2';
import { BoundedCalls } from '@postrider/limits';
import { SesNoAnswerError } from './fault.ts';

export interface SesOptions {
  readonly region: string;
  /** Limits one operation. It includes the credentials, the connection and every request. */
  readonly timeoutMs: number;
  /** SES reports to the event destinations of this set. */
  readonly configurationSet?: string | undefined;
  readonly connectionsMax?: number | undefined;
}

/** Pass these to every command of an operation, so that an abort closes the connection. */
export interface CommandOptions {
  readonly abortSignal: AbortSignal;
}

/**
 * The SDK's own time limits for each request: until it has a connection, and until the answer's head arrives.
 */
export interface SdkTimeouts {
  readonly connectionMs: number;
  readonly requestMs: number;
}

const CONNECTIONS_MAX = 16;
/** A host that takes longer to accept a connection counts as away. */
const CONNECT_TIMEOUT_MS = 5000;
/**
 * A request may use this share of its operation's time. The rest is for credentials and for undoing a change.
 */
const REQUEST_SHARE = 0.9;

/** The SDK's time limits for an operation of this length. Both end before the operation does. */
export function sdkTimeouts(operationMs: number): SdkTimeouts {
  const requestMs = Math.max(1, Math.floor(operationMs * REQUEST_SHARE));
  return { connectionMs: Math.min(CONNECT_TIMEOUT_MS, requestMs), requestMs };
}

/**
 * The SDK's client with a time limit for each operation. The SDK reads credentials and endpoint on first use.
 */
export class SesClient {
  readonly #sdk: SESv2Client;
  readonly #operations: BoundedCalls;

  constructor(options: SesOptions, timeouts = sdkTimeouts(options.timeoutMs)) {
    const { region, timeoutMs, connectionsMax = CONNECTIONS_MAX } = options;
    // The SDK's limits cover neither the credentials nor the answer's body. The limit of `BoundedCalls` does.
    this.#operations = new BoundedCalls(timeoutMs, () => new SesNoAnswerError('in time'));
    this.#sdk = new SESv2Client({
      region,
      maxAttempts: 1, // our own retry schedule counts each request as one attempt
      retryMode: 'standard',
      requestHandler: {
        connectionTimeout: timeouts.connectionMs,
        requestTimeout: timeouts.requestMs,
        throwOnRequestTimeout: true, // without it, the SDK only writes a warning
        httpAgent: { maxSockets: connectionsMax },
        httpsAgent: { maxSockets: connectionsMax },
      },
    });
  }

  /**
   * @throws SesNoAnswerError when the operation or one of its requests times out; otherwise the SDK's error.
   */
  async operation<Answer>(
    work: (sdk: SESv2Client, options: CommandOptions) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await this.#operations.run((abortSignal) => work(this.#sdk, { abortSignal }));
    } catch (error) {
      if (isRequestTimeout(error)) throw new SesNoAnswerError('in time', { cause: error });
      throw error;
    }
  }

  /** Aborts running operations. A later operation fails at once. */
  close(): void {
    this.#operations.close(new SesNoAnswerError('before we stopped'));
    this.#sdk.destroy();
  }
}

function isRequestTimeout(error: unknown): boolean {
  const { name, code } = error as NodeJS.ErrnoException;
  return name === 'TimeoutError' && code === 'ETIMEDOUT';
}
