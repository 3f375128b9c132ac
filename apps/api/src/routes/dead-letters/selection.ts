import { DEAD_LETTER_REASONS, parseId } from '@postrider/domain';
import type { DeadLetterReason, WebhookId } from '@postrider/domain';
import type { DeadLetterCut } from '@postrider/store';
import { z } from 'zod';
import { parseFields, resourceFields } from '../../http/fields.ts';
import type { FieldsParse } from '../../http/fields.ts';
import { idField } from '../../http/id-field.ts';
import { parseQuery } from '../../http/query-fields.ts';
import { eventType } from '../webhooks/registration.ts';

const text = z.string({ error: 'is not a string' });

const isReason = (written: string): written is DeadLetterReason =>
  (DEAD_LETTER_REASONS as readonly string[]).includes(written);

const filter = {
  type: eventType.optional(),
  reason: text
    .refine(isReason, { error: `is not one of ${DEAD_LETTER_REASONS.join(', ')}` })
    .meta({ enum: DEAD_LETTER_REASONS })
    .optional(),
};

const listed = z.object({
  ...filter,
  webhook: idField('webhook', 'a webhook').optional(),
  after: idField('deadLetter', 'a dead letter').optional(),
});

/** What the query of the list selects. */
export function parseSelection(query: URLSearchParams): FieldsParse<z.output<typeof listed>> {
  return parseQuery(query, listed);
}

/** Postgres reads an ISO 8601 text only with a year from 0001 to 9999; the offset may lead out of these. */
const hasPlainYear = (moment: Date): boolean =>
  moment.getUTCFullYear() >= 1 && moment.getUTCFullYear() <= 9_999;

/** A time in ISO 8601 with its offset, or the id of a dead letter. */
const cut = text.transform((written, context): DeadLetterCut => {
  const id = parseId('deadLetter', written);
  if (id !== null) return id;
  const moment = z.iso.datetime({ offset: true }).safeParse(written).success ? new Date(written) : null;
  if (moment !== null && hasPlainYear(moment)) return moment;
  context.addIssue('is neither a time in ISO 8601 nor the id of a dead letter');
  return z.NEVER;
});

/** The body of `POST /v1/webhooks/dead-letters/replay`. */
export const replayRequest = z.object({
  // A malformed id reads as missing, as one in a path does.
  webhook: text.transform((written): WebhookId | null => parseId('webhook', written)),
  ...filter,
  before: cut.optional(),
});

export function parseReplayRequest(body: unknown): FieldsParse<z.output<typeof replayRequest>> {
  return parseFields(body, replayRequest, ['webhook'], resourceFields);
}
