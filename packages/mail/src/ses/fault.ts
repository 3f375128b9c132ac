import { SESv2ServiceException } from '@aws-sdk/client-sesv2';
import { oneLine } from '../one-line.ts';

/** SES did not answer before the time limit, or before the client was closed. */
export class SesNoAnswerError extends Error {
  override readonly name = 'SesNoAnswerError';

  constructor(when: string, options?: ErrorOptions) {
    super(`no answer from the mail provider ${when}`, options);
  }
}

/**
 * Why an operation failed.
 * - `final`: SES rejects this request. The same request would fail again.
 * - `ours`: SES rejects our account, credentials or configuration. Or the answer was a 4xx that is not AWS's.
 * - `throttled`: we ask more often than SES allows. It takes no message for now.
 * - `passing`: the next attempt may succeed. The answer was a 5xx, or was missing or unreadable.
 */
export interface SesFault {
  readonly kind: 'final' | 'ours' | 'throttled' | 'passing';
  /** The exception's name at AWS. Null when the fault did not come from AWS. */
  readonly name: string | null;
  /** The text for the customer, without our inner error codes. */
  readonly sentence: string;
  /** The code of Node, the SDK or AWS, for operators only. When our user lacks a right: AWS's message too. */
  readonly code?: string;
}

const THROTTLING = /Throttl|^TooManyRequests|^RequestLimitExceeded|^SlowDown|^BandwidthLimitExceeded/;
const TIMED_OUT = /^RequestTimeout/;
/** Exceptions about our account or configuration set. Their messages name limits and pauses, no secrets. */
const ACCOUNT = new Set([
  'AccountSuspendedException',
  'LimitExceededException',
  'NotFoundException',
  'SendingPausedException',
]);
/**
 * Exceptions about our credentials. Their messages name our users, roles and keys. A message about the
 * signature quotes the session token.
 */
const CREDENTIALS =
  /^(AccessDenied|ExpiredToken|IncompleteSignature|InvalidAccessKeyId|InvalidClientTokenId|InvalidSignature|MissingAuthenticationToken|NotAuthorized|OptInRequired|RequestExpired|RequestInTheFuture|SignatureDoesNotMatch|UnrecognizedClient)/;

/** Exceptions about a missing right. Their messages name the action that our user or role may not do. */
const DENIED = /^(AccessDenied|NotAuthorized)/;

/** The SDK throws this for network faults, for its own faults, and for an answer that it cannot parse. */
interface SdkFault extends NodeJS.ErrnoException {
  readonly $metadata: { readonly httpStatusCode?: number };
}

/** The error for an answer without a field that SES always sets. A proxy may have sent it. */
export function unreadable({ $metadata }: Pick<SdkFault, '$metadata'>): Error {
  return Object.assign(new Error('an answer without its fields'), { $metadata });
}

export function readFault(error: unknown): SesFault {
  // AWS gives each answer a request id. The SDK also reads the JSON of a proxy as an exception of AWS.
  if (error instanceof SESv2ServiceException && error.$metadata.requestId !== undefined)
    return readServiceException(error);
  if (error instanceof SesNoAnswerError) return { kind: 'passing', name: null, sentence: error.message };
  const { name = '', code, message = '', $metadata } = error as Partial<SdkFault>;
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) {
    const kind = isPassing(status) ? 'passing' : 'ours';
    return {
      kind,
      name: null,
      sentence: `an answer of the mail provider that cannot be read (status ${status})`,
    };
  }
  if (/Credentials|TokenProvider/.test(name)) {
    return { kind: 'passing', name: null, sentence: 'no credentials for the mail provider' };
  }
  const system = code ?? /\bE[A-Z]{4,}\b/.exec(message)?.[0] ?? (name === '' ? 'unknown' : name);
  return { kind: 'passing', name: null, sentence: 'no answer from the mail provider', code: system };
}

function readServiceException(error: SESv2ServiceException): SesFault {
  const { name } = error;
  const words = oneLine(`${name}: ${error.message}`);
  if (CREDENTIALS.test(name)) {
    const code = DENIED.test(name) ? words : name;
    return { kind: 'ours', name, sentence: 'the mail provider does not accept our credentials', code };
  }
  const status = error.$metadata.httpStatusCode ?? 0;
  if (status === 429 || THROTTLING.test(name)) return { kind: 'throttled', name, sentence: words };
  if (isPassing(status) || TIMED_OUT.test(name)) return { kind: 'passing', name, sentence: words };
  return { kind: ACCOUNT.has(name) ? 'ours' : 'final', name, sentence: words };
}

function isPassing(status: number): boolean {
  return status < 400 || status >= 500 || status === 408 || status === 429;
}
