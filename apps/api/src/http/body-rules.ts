import { LIMITS } from '@postrider/domain';
import { invalid, invalidFields, notBelieved, tooLarge as tooLargeProblem } from '../problems/answers.ts';
import { plainText } from './answer.ts';
import type { Answer } from './answer.ts';

/** A route's limit for its body, and its refusals. */
export interface BodyRule {
  readonly bytesMax: number;
  /** An empty body is allowed and parses as undefined. */
  readonly mayBeEmpty?: true;
  /**
   * The limit of the entries of an array. A longer array is refused, and this costs nothing of the rate
   * limit. A large array is refused before it is parsed.
   */
  readonly entries?: { readonly max: number; readonly refusal: Answer };
  /** @param declaredBytes the Content-Length; null for a chunked body. */
  tooLarge(declaredBytes: number | null): Answer;
  /** @param fault the end of a sentence about the body, such as "is not valid JSON". */
  unreadable(fault: string): Answer;
}

/** Webhook routes and the other exceptions of contract 7.1 refuse bad syntax in plain text. */
export const resourceBody: BodyRule = {
  bytesMax: LIMITS.bodyBytes,
  tooLarge: () => tooLargeProblem(LIMITS.bodyBytes),
  unreadable: (fault) => plainText(400, `The request body ${fault}.`),
};

/** A reply with its attachments. */
export const replyBody: BodyRule = {
  ...resourceBody,
  bytesMax: LIMITS.replyBodyBytes,
  tooLarge: () => tooLargeProblem(LIMITS.replyBodyBytes),
};

/** The route needs no body. Clients announce JSON on every call, even when they send none. */
export const optionalBody: BodyRule = { ...resourceBody, mayBeEmpty: true };

/** Topic routes are no exception of contract 7.1. They answer a failed rule with 400 (contract 7.2). */
export const topicBody: BodyRule = {
  ...resourceBody,
  unreadable: (fault) => invalid(`The body ${fault}.`, 400),
};

/** `POST /internal/ses/sns`: an unverified sender gets no details about a fault. */
export const snsBody: BodyRule = {
  bytesMax: LIMITS.snsBodyBytes,
  tooLarge: () => tooLargeProblem(LIMITS.snsBodyBytes),
  unreadable: () => notBelieved,
};

/**
 * `POST /v1/emails` answers problem documents. One exception: a body of 8 to 32 MiB gets plain text (contract
 * 7.2, 413). So does every chunked body over 8 MiB: its refusal comes at byte 8 MiB + 1, before its length is
 * known.
 */
export const emailBody: BodyRule = {
  bytesMax: LIMITS.emailBodyBytes,
  tooLarge: (declaredBytes) =>
    declaredBytes !== null && declaredBytes > LIMITS.emailBodyPlainTextBytes
      ? tooLargeProblem(LIMITS.emailBodyBytes)
      : plainText(413, `The request body is larger than ${LIMITS.emailBodyBytes} bytes.`),
  unreadable: (fault) => invalidFields([{ field: '', message: fault }]),
};

/**
 * `POST /v1/emails/batch` always answers problem documents. A batch with too many messages costs nothing of
 * the rate limit.
 */
export const batchBody: BodyRule = {
  bytesMax: LIMITS.batchBodyBytes,
  entries: {
    max: LIMITS.batchMessages,
    refusal: invalidFields([{ field: '', message: `has more than ${LIMITS.batchMessages} messages` }]),
  },
  tooLarge: () => tooLargeProblem(LIMITS.batchBodyBytes),
  unreadable: (fault) => invalidFields([{ field: '', message: fault }]),
};

/** Values in a body. A full batch with only known fields has a quarter of this. */
const JSON_VALUES_MAX = 250_000;
/**
 * Numbers in the arrays of a body. A full message in base64 decodes to this many bytes, and a client may send
 * each byte as a number. They parse in 0.3 s.
 */
const JSON_NUMBERS_MAX = (LIMITS.messageBytes / 4) * 3;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

export interface JsonCounts {
  /** An upper bound of the values, without `numbers`. */
  readonly values: number;
  /** Non-negative numbers in arrays. Each byte of an attachment may be one. They take little memory. */
  readonly numbers: number;
  /** Entries of the outermost array; 1 when it is empty. 0: the text is no array. */
  readonly entries: number;
}

/**
 * Counts the values in a JSON text without parsing it: every array entry and every object member follows a
 * comma, an opening bracket or an opening brace. The parsed form of `[[],[],…]` takes fourteen times the
 * memory of its text. The result has no meaning when the text is not JSON.
 */
export function countJsonValues(text: Uint8Array): JsonCounts {
  let values = 1;
  let numbers = 0;
  let entries = 0;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) isInString = !isInString;
    else if (isInString) {
      if (byte === BACKSLASH) at += 1;
    } else if (byte === OPENING_BRACE) {
      values += 1;
      depth += 1;
    } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) depth -= 1;
    else if (byte === COMMA || byte === OPENING_BRACKET) {
      if (byte === OPENING_BRACKET) depth += 1;
      // A comma at depth 1 before any entry belongs to an object.
      if (depth === 1 && (byte === OPENING_BRACKET || entries > 0)) entries += 1;
      // A digit behind a comma or an opening bracket begins an entry of an array. A member of an object would
      // begin with a quote.
      while ((text[at + 1] ?? Infinity) <= SPACE) at += 1;
      const next = text[at + 1] ?? 0;
      if (next >= ZERO && next <= NINE) numbers += 1;
      else values += 1;
    }
  }
  return { values, numbers, entries };
}

/** Refuses a body with more values than any route needs, before the parsing. */
export function refusalOfCounts({ values, numbers }: JsonCounts, rule: BodyRule): Answer | null {
  if (values > JSON_VALUES_MAX) return rule.unreadable(`has more than ${JSON_VALUES_MAX} values`);
  if (numbers > JSON_NUMBERS_MAX)
    return rule.unreadable(`has more than ${JSON_NUMBERS_MAX} numbers in arrays`);
  return null;
}
