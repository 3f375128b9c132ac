import {
  parseId,
  parseReply,
  replyRequest,
  requestDigest,
  senderDomain,
  smtpUtf8Faults,
} from '@postrider/domain';
import type { InboxId, ReplyDraft } from '@postrider/domain';
import type { EmailStore, SendOutcome } from '@postrider/store';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { replyBody } from '../http/body-rules.ts';
import { parseIdempotencyKey } from '../http/idempotency-key.ts';
import { invalid, noSuch } from '../problems/answers.ts';
import { createdEmail } from './emails.ts';
import type { Documented, KeyedRoute, RouteRequest } from './route.ts';
import { texts } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';
import { sendRefusal } from './send-emails.ts';
import type { SendRules } from './send-emails.ts';
import { messageIdsOf } from './thread-emails.ts';
import { findThreadEmail } from './threads.ts';
import type { InThread, ThreadStores } from './threads.ts';

export interface ReplyStores extends ThreadStores {
  readonly emails: Pick<EmailStore, 'send' | 'recall'>;
}

export interface ReplyRules extends SendRules {
  /** The region of SES, which writes its own Message-IDs. Undefined without SES. */
  readonly awsRegion: string | undefined;
}

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
export function reply(stores: ReplyStores, rules: ReplyRules): Documented<KeyedRoute> {
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
      if (!found.ok) return (await answerBefore(stores, request)) ?? found.refusal;
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
      return send(stores, rules, request, found.value, parsed);
    },
  };
}

/**
 * Finds the answer to an earlier request with the same idempotency key. A repetition gets it even when the
 * message was deleted meanwhile. @returns null when the store remembers none
 */
async function answerBefore(stores: ReplyStores, request: RouteRequest): Promise<Answer | null> {
  const inboxId =
    parseId('inbox', request.id) ?? (await stores.inboxes.identify(request.key, request.id))?.id;
  const idempotency = inboxId === undefined ? null : idempotencyOf(request, inboxId);
  if (idempotency === null) return null;
  const recalled = await stores.emails.recall(request.key, idempotency);
  return recalled === null ? null : answerOf(recalled);
}

/** @returns null without a valid idempotency key */
function idempotencyOf({ headers, params, body }: RouteRequest, inboxId: InboxId) {
  const parsed = parseIdempotencyKey(headers);
  if (!parsed.ok || parsed.key === null) return null;
  const { thread, email } = params;
  return { route: ROUTE, key: parsed.key, digest: requestDigest({ inbox: inboxId, thread, email, body }) };
}

async function send(
  stores: ReplyStores,
  { verifiedDomainsOnly }: SendRules,
  request: RouteRequest,
  { inbox, thread }: InThread,
  { draft, skipped, messages }: ReplyDraft,
): Promise<Answer> {
  const { accountId, kind } = request.key;
  const outcome = await stores.emails.send({
    accountId,
    kind,
    drafts: [draft],
    domains: verifiedDomainsOnly && kind === 'live' ? [senderDomain(draft.from)] : [],
    idempotency: idempotencyOf(request, inbox.id),
    reply: { inboxId: inbox.id, threadId: thread.id, messages, skipped },
    sentBy: { keyId: request.key.id, requestId: request.requestId },
  });
  if (outcome.kind === 'missing') return (await answerBefore(stores, request)) ?? noSuch('thread');
  return answerOf(outcome);
}

function answerOf(outcome: Exclude<SendOutcome, { readonly kind: 'missing' }>): Answer {
  switch (outcome.kind) {
    case 'stored':
    case 'repeated': {
      const { ids, skipped } = outcome;
      const [id] = ids;
      if (id === undefined) throw new Error('the store returned no id for a reply');
      return json<AnswerOf<typeof createdReply>>(202, skipped.length === 0 ? { id } : { id, skipped });
    }
    case 'unknown-topics':
      throw new Error('a reply has no topic');
    case 'conflict':
    case 'unverified-domains':
    case 'inbox-over-limit':
    case 'thread-over-limit':
      return sendRefusal(outcome);
  }
}
