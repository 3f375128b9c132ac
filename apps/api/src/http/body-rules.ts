import { LIMITS } from '@postrider/domain';
import { invalid, invalidFields, notBelieved, tooLarge } from '../problems/answers.ts';
import { plainText } from './answer.ts';
import type { Answer } from './answer.ts';

/** A route's limit for its body, and its refusals. */
export interface BodyRule {
  readonly bytesMax: number;
  /** An empty body is allowed and parses as undefined. */
  readonly mayBeEmpty?: true;
  /** @param declaredBytes the Content-Length; null for a chunked body. */
  tooLarge(declaredBytes: number | null): Answer;
  /** @param fault the end of a sentence about the body, such as "is not valid JSON". */
  unreadable(fault: string): Answer;
}

/** Webhook routes and the other exceptions of contract 7.1 refuse bad syntax in plain text. */
export const resourceBody: BodyRule = {
  bytesMax: LIMITS.bodyBytes,
  tooLarge: () => tooLarge(LIMITS.bodyBytes),
  unreadable: (fault) => plainText(400, `The request body ${fault}.`),
};

/** A reply with its attachments. */
export const replyBody: BodyRule = {
  ...resourceBody,
  bytesMax: LIMITS.replyBodyBytes,
  tooLarge: () => tooLarge(LIMITS.replyBodyBytes),
};

/** A DELETE may carry a reason. Clients announce JSON on every call, even when they send no body. */
export const optionalBody: BodyRule = { ...resourceBody, mayBeEmpty: true };

/** Topic routes are no exception of contract 7.1. They answer a failed rule with 400 (contract 7.2). */
export const topicBody: BodyRule = {
  ...resourceBody,
  unreadable: (fault) => invalid(`The body ${fault}.`, 400),
};

/** `POST /internal/ses/sns`: an unverified sender gets no details about a fault. */
export const snsBody: BodyRule = {
  bytesMax: LIMITS.snsBodyBytes,
  tooLarge: () => tooLarge(LIMITS.snsBodyBytes),
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
      ? tooLarge(LIMITS.emailBodyBytes)
      : plainText(413, `The request body is larger than ${LIMITS.emailBodyBytes} bytes.`),
  unreadable: (fault) => invalidFields([{ field: '', message: fault }]),
};

/** `POST /v1/emails/batch` always answers problem documents. */
export const batchBody: BodyRule = {
  bytesMax: LIMITS.batchBodyBytes,
  tooLarge: () => tooLarge(LIMITS.batchBodyBytes),
  unreadable: (fault) => invalidFields([{ field: '', message: fault }]),
};
