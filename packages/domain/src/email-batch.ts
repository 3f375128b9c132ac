import { parseEmailDraft } from './email-draft.ts';
import type { EmailDraftParse } from './email-draft.ts';
import type { FieldFault } from './problems.ts';

/** A message of a send request and its position there. */
export interface RequestedEmail {
  /** The field's path as written in the request: `[7].to` in a batch. `''` means the whole message. */
  readonly pathOf: (field: string) => string;
  readonly parse: EmailDraftParse;
}

/** The body of `POST /v1/emails`: one message. */
export function requestedEmail(body: unknown): RequestedEmail {
  return { pathOf: (field) => field, parse: parseEmailDraft(body) };
}

/** The body of `POST /v1/emails/batch`, which is an array. */
export function requestedBatch(body: readonly unknown[]): RequestedEmail[] {
  return body.map((message, index) => ({
    pathOf: (field) => (field === '' ? `[${index}]` : `[${index}].${field}`),
    parse: parseEmailDraft(message),
  }));
}

/** Every fault of every message, under its path in the request. */
export function faultsOf(emails: readonly RequestedEmail[]): FieldFault[] {
  return emails.flatMap(({ pathOf, parse }) =>
    parse.ok ? [] : parse.faults.map(({ field, message }) => ({ field: pathOf(field), message })),
  );
}
