import { SESv2ServiceException } from '@aws-sdk/client-sesv2';

/** No answer in time. */
export class SesNoAnswerError extends Error {
  override readonly name = 'SesNoAnswerError';

  constructor(when: string, options?: ErrorOptions) {
    super(`no answer from the mail provider ${when}`, options);
  }
}

/**
 * What a failed operation says about itself:
 * `final` is the provider's no to this very request; `ours` a no to our account, credentials or configuration,
 * whatever the request, or a 4xx that AWS did not write; `passing` everything that may be different next time: 5xx,
 * throttling, no answer, or none that can be read.
 */
export interface SesFault {
  readonly kind: 'final' | 'ours' | 'passing';
  /** AWS's name of it, or null where AWS did not say. */
  readonly name: string | null;
  /** For the customer: a sentence without our inner error codes. */
  readonly sentence: string;
  /** For operators only: the code of Node, the SDK or AWS behind the sentence. */
  readonly code?: string;
}

const THROTTLING = /Throttl|^TooManyRequests|^RequestLimitExceeded|^SlowDown|^BandwidthLimitExceeded/;
const TIMED_OUT = /^RequestTimeout/;
/** Of the account or of the configuration set; the words are about limits and pauses, nothing secret. */
const ACCOUNT = new Set([
  'AccountSuspendedException',
  'LimitExceededException',
  'NotFoundException',
  'SendingPausedException',
]);
/** Their messages name our users, roles and keys. */
const CREDENTIALS =
  /^(AccessDenied|ExpiredToken|IncompleteSignature|InvalidAccessKeyId|InvalidClientTokenId|InvalidSignature|MissingAuthenticationToken|NotAuthorized|OptInRequired|RequestExpired|RequestInTheFuture|SignatureDoesNotMatch|UnrecognizedClient)/;
const TEXT_LENGTH_MAX = 500;

/** What the SDK throws that is not AWS's answer: faults of Node, of its own, and of reading an answer. */
interface SdkFault extends NodeJS.ErrnoException {
  readonly $metadata: { readonly httpStatusCode?: number };
}

export function readFault(error: unknown): SesFault {
  if (error instanceof SESv2ServiceException) return readServiceException(error);
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
  if (CREDENTIALS.test(name)) {
    return { kind: 'ours', name, sentence: 'the mail provider does not accept our credentials', code: name };
  }
  const words = oneLine(`${name}: ${error.message}`);
  const passing = isPassing(error.$metadata.httpStatusCode ?? 0);
  if (passing || THROTTLING.test(name) || TIMED_OUT.test(name))
    return { kind: 'passing', name, sentence: words };
  return { kind: ACCOUNT.has(name) ? 'ours' : 'final', name, sentence: words };
}

function isPassing(status: number): boolean {
  return status < 400 || status >= 500 || status === 408 || status === 429;
}

function oneLine(text: string): string {
  return text
    .replaceAll(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim()
    .slice(0, TEXT_LENGTH_MAX);
}
