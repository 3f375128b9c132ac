import { parseReply, replyRequest, smtpUtf8Faults } from '@postrider/domain';
import { replyBody } from '../http/body-rules.ts';
import { parseIdempotencyKey } from '../http/idempotency-key.ts';
import { invalid } from '../problems/answers.ts';
import { createdEmail } from './emails.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { texts } from './schemas.ts';
import { messageIdsOf } from './thread-emails.ts';
import { answerBefore, sendIntoThread } from './thread-sends.ts';
import type { ReplyRules, ThreadSendStores } from './thread-sends.ts';
import { findThreadEmail } from './threads.ts';

const createdReply = createdEmail
  .extend({
    skipped: texts.optional().meta({
      description: 'The addresses of `Reply-To` after the first ten, which do not get the reply.',
    }),
  })
  .meta({ id: 'CreatedReply' });

/** The name under which this route keeps its idempotency keys. */
const ROUTE = 'POST /v1/inboxes/:id/threads/:thread/emails/:email/reply';

/** Answers 202 once the reply is stored. The workers then send it like every other message. */
export function reply(stores: ThreadSendStores, rules: ReplyRules): Documented<KeyedRoute> {
  return {
    method: 'post',
    path: '/v1/inboxes/:id/threads/:thread/emails/:email/reply',
    scope: 'inbound:send',
    limited: true,
    body: replyBody,
    docs: {
      operationId: 'replyToEmail',
      summary: 'Answer a message of a thread',
      description:
        'Queued; from there it goes the way of every send. A repetition gets its 202 also once the message is deleted.',
      request: replyRequest,
      success: { status: 202, body: createdReply },
      idempotent: true,
      refusals: [
        '400 text',
        'validation-failed',
        'not-found',
        'domain-not-verified',
        'idempotency-conflict',
        'inbox-rate-limited',
        'thread-rate-limited',
      ],
    },
    async handle(request) {
      const found = await findThreadEmail(stores, request);
      if (!found.ok) return (await answerBefore(stores, request, ROUTE)) ?? found.refusal;
      const { inbox, email } = found.value;
      const { body } = request;
      if (typeof body !== 'object' || body === null || Array.isArray(body)) {
        return invalid('The body is not an object.');
      }
      const key = parseIdempotencyKey(request.headers);
      if (!key.ok) return invalid(`${key.fault.field} ${key.fault.message}.`);
      const answered = { ...email, ids: messageIdsOf(email, rules.awsRegion) };
      const parsed = parseReply(body, inbox, answered);
      if (!parsed.ok) return invalid(parsed.fault);
      const [undeliverable] = rules.smtpUtf8 ? [] : smtpUtf8Faults(parsed.draft);
      if (undeliverable !== undefined) return invalid(`${undeliverable.field} ${undeliverable.message}.`);
      return sendIntoThread(stores, rules, request, { ...found.value, ...parsed, route: ROUTE });
    },
  };
}
