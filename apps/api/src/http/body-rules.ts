import { LIMITS } from '@postrider/domain';
import { invalid, invalidFields, notBelieved, tooLarge } from '../problems/answers.ts';
import { plainText } from './answer.ts';
import type { Answer } from './answer.ts';

/** How much a route reads, and how it refuses what it cannot read. */
export interface BodyRule {
  readonly bytesMax: number;
  /** An empty body is none, and no fault. */
  readonly mayBeEmpty?: true;
  /** @param declaredBytes null for a chunked body, which tells its length only by its end. */
  tooLarge(declaredBytes: number | null): Answer;
  /** @param fault what the body is or does, as in "is not valid JSON". */
  unreadable(fault: string): Answer;
}

/** Webhook routes, and others that contract 7.1 excepts: bad syntax is refused in plain text. */
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

/** Of a DELETE that says why: clients announce JSON on every call, also where they send nothing. */
export const optionalBody: BodyRule = { ...resourceBody, mayBeEmpty: true };

/** Topic routes, which have no part in that exception: rule failures of theirs are 400 (contract 7.2). */
export const topicBody: BodyRule = {
  ...resourceBody,
  unreadable: (fault) => invalid(`The body ${fault}.`, 400),
};

/** `POST /internal/ses/sns`: the faults of a message that nobody vouches for are of interest to nobody but us. */
export const snsBody: BodyRule = {
  bytesMax: LIMITS.snsBodyBytes,
  tooLarge: () => tooLarge(LIMITS.snsBodyBytes),
  unreadable: () => notBelieved,
};

/**
 * `POST /v1/emails`: always a problem document, but for a body between 8 and 32 MiB (contract 7.2, 413). A chunked
 * body is refused at byte 8 MiB + 1, when nobody can know yet how long it would have been.
 */
export const emailBody: BodyRule = {
  bytesMax: LIMITS.emailBodyBytes,
  tooLarge: (declaredBytes) =>
    declaredBytes !== null && declaredBytes > LIMITS.emailBodyPlainTextBytes
      ? tooLarge(LIMITS.emailBodyBytes)
      : plainText(413, `The request body is larger than ${LIMITS.emailBodyBytes} bytes.`),
  unreadable: (fault) => invalidFields([{ field: '', message: fault }]),
};

/** `POST /v1/emails/batch`: always a problem document. */
export const batchBody: BodyRule = {
  bytesMax: LIMITS.batchBodyBytes,
  tooLarge: () => tooLarge(LIMITS.batchBodyBytes),
  unreadable: (fault) => invalidFields([{ field: '', message: fault }]),
};
