import { SESv2Client } from '@aws-sdk/client-sesv2';
import { SesNoAnswerError } from './fault.ts';
import type { SesOptions } from './options.ts';

/** Passed to every command of an operation, so that breaking it off closes its connection. */
export interface CommandOptions {
  readonly abortSignal: AbortSignal;
}

export interface SesClient {
  /** @throws SesNoAnswerError when the time is up, of the operation or of a request in it; else whatever the SDK throws. */
  operation<Answer>(work: (sdk: SESv2Client, options: CommandOptions) => Promise<Answer>): Promise<Answer>;
  /** Breaks off what is running. */
  close(): void;
}

/** How long the SDK itself waits in each request: for a connection of its own, and for the head of the answer. */
export interface SdkTimeouts {
  readonly connectionMs: number;
  readonly requestMs: number;
}

const CONNECTIONS_MAX = 16;
/** A host that takes longer to accept a connection is away. */
const CONNECT_TIMEOUT_MS = 5000;
/** Of the time of an operation. What is left is for its credentials, and for undoing what it began. */
const REQUEST_SHARE = 0.9;

/** Those of an operation that has so much time: both run out before it does. */
export function sdkTimeouts(operationMs: number): SdkTimeouts {
  const requestMs = Math.max(1, Math.floor(operationMs * REQUEST_SHARE));
  return { connectionMs: Math.min(CONNECT_TIMEOUT_MS, requestMs), requestMs };
}

/** Reads credentials, and the endpoint if it is not AWS's own, where the SDK looks for them; none is read yet. */
export function createSesClient(options: SesOptions, timeouts = sdkTimeouts(options.timeoutMs)): SesClient {
  const { region, timeoutMs, connectionsMax = CONNECTIONS_MAX } = options;
  const sdk = new SESv2Client({
    region,
    maxAttempts: 1, // the retry schedule is ours, and a request is one try of it
    retryMode: 'standard',
    requestHandler: {
      connectionTimeout: timeouts.connectionMs,
      requestTimeout: timeouts.requestMs,
      throwOnRequestTimeout: true, // else it only writes a warning
      httpAgent: { maxSockets: connectionsMax },
      httpsAgent: { maxSockets: connectionsMax },
    },
  });
  const running = new Set<AbortController>();
  let closed = false;

  return {
    async operation(work) {
      if (closed) throw new SesNoAnswerError('after we stopped');
      const abort = new AbortController();
      const brokenOff = new Promise<never>((_resolve, reject) => {
        abort.signal.addEventListener('abort', () => reject(abort.signal.reason as Error));
      });
      // The limit that nothing can outlast: the SDK's own ends with the answer's head, and starts after the credentials.
      const timer = setTimeout(() => abort.abort(new SesNoAnswerError('in time')), timeoutMs);
      running.add(abort);
      try {
        return await Promise.race([work(sdk, { abortSignal: abort.signal }), brokenOff]);
      } catch (error) {
        if (isRequestTimeout(error)) throw new SesNoAnswerError('in time', { cause: error });
        throw error;
      } finally {
        clearTimeout(timer);
        running.delete(abort);
      }
    },
    close() {
      closed = true;
      for (const abort of running) abort.abort(new SesNoAnswerError('before we stopped'));
      sdk.destroy();
    },
  };
}

function isRequestTimeout(error: unknown): boolean {
  const { name, code } = error as NodeJS.ErrnoException;
  return name === 'TimeoutError' && code === 'ETIMEDOUT';
}
