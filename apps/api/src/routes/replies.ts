import { parseReply, replyRequest } from '@postrider/domain';
import { replyBody } from '../http/body-rules.ts';
import type { RouteStores } from '../stores.ts';
import { createdEmail } from './emails.ts';
import type { Documented, KeyedRoute, RouteRules } from './route.ts';
import { texts } from './schemas.ts';
import { messageIdsOf } from './thread-emails.ts';
import {
  findThreadSend,
  invalidDraft,
  sendIntoThread,
  THREAD_SEND_REFUSALS,
  undeliverable,
} from './thread-sends.ts';

const createdReply = createdEmail
  .extend({
    skipped: texts.optional().meta({
      description: 'The addresses of `Reply-To` after the first ten, which do not get the reply.',
    }),
  })
  .meta({ id: 'CreatedReply' });

/** The name under which this route keeps its idempotency keys. */
const ROUTE = 'POST /v1/inboxes/:id/threads/:thread/emails/:email/reply';

/** Answers 202 once the reply is stored. The workers then send it like every email. */
export function reply(stores: RouteStores, rules: RouteRules): Documented<KeyedRoute> {
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
      refusals: THREAD_SEND_REFUSALS,
    },
    async handle(request) {
      const found = await findThreadSend(stores, request, { route: ROUTE, required: [] });
      if (!found.ok) return found.answer;
      const { inbox, email, body } = found.value;
      const answeredEmail = { ...email, ids: messageIdsOf(email, rules.awsRegion) };
      const parsed = parseReply(body, inbox, answeredEmail);
      if (!parsed.ok) return invalidDraft(parsed.fault);
      const refusal = undeliverable(rules, parsed.draft);
      if (refusal !== null) return refusal;
      return sendIntoThread(stores, rules, request, { ...found.value, ...parsed, route: ROUTE });
    },
  };
}
