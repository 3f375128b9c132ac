import { parseId, parseReply, requestDigest, senderDomain } from '@postrider/domain';
import type { EmailDraft, InboxId } from '@postrider/domain';
import type { EmailStore, SendOutcome } from '@postrider/store';
import { json } from '../../http/answer.ts';
import type { Answer } from '../../http/answer.ts';
import { parseIdempotencyKey } from '../../http/idempotency-key.ts';
import { invalid, noSuch } from '../../problems/answers.ts';
import { sendRefusal } from '../emails/send-refusal.ts';
import type { Handle, RouteRequest } from '../route.ts';
import { findThreadEmail } from './in-thread.ts';
import type { InThread, ThreadParts } from './in-thread.ts';
import { idsOf } from './thread-email-object.ts';

export interface ReplyParts extends ThreadParts {
  readonly emails: Pick<EmailStore, 'send' | 'recall'>;
  readonly verifiedDomainsOnly: boolean;
  /** Of SES; undefined: mail goes another way. */
  readonly awsRegion: string | undefined;
}

/** An idempotency key is known on this route only. */
const ROUTE = 'POST /v1/inboxes/:id/threads/:thread/emails/:email/reply';

/** `POST …/emails/{email}/reply`: 202 once it is stored; from there it goes the way of every send. */
export function reply(parts: ReplyParts): Handle {
  return async (request) => {
    const found = await findThreadEmail(parts, request);
    if (!found.ok) return (await answeredBefore(parts, request)) ?? found.refusal;
    const { inbox, email } = found.value;
    const { body } = request;
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      return invalid('The body is not an object.');
    const key = parseIdempotencyKey(request.headers);
    if (!key.ok) return invalid(`${key.fault.field} ${key.fault.message}.`);
    const answered = { ...email, ids: idsOf(email, parts.awsRegion) };
    const parsed = parseReply(body, inbox, answered);
    if (!parsed.ok) return invalid(parsed.fault);
    return send(parts, request, found.value, parsed.draft);
  };
}

/** What a repetition is told whose message is gone. @returns null when nothing is remembered. */
async function answeredBefore(parts: ReplyParts, request: RouteRequest): Promise<Answer | null> {
  const inboxId = parseId('inbox', request.id) ?? (await parts.inboxes.identify(request.key, request.id))?.id;
  const idempotency = inboxId === undefined ? null : idempotencyOf(request, inboxId);
  if (idempotency === null) return null;
  const recalled = await parts.emails.recall(request.key, idempotency);
  return recalled === null ? null : answerOf(recalled);
}

/** @returns null without a key that is one. */
function idempotencyOf({ headers, params, body }: RouteRequest, inboxId: InboxId) {
  const parsed = parseIdempotencyKey(headers);
  if (!parsed.ok || parsed.key === null) return null;
  const { thread, email } = params;
  return { route: ROUTE, key: parsed.key, digest: requestDigest({ inbox: inboxId, thread, email, body }) };
}

async function send(
  parts: ReplyParts,
  request: RouteRequest,
  { inbox, thread }: InThread,
  draft: EmailDraft,
): Promise<Answer> {
  const { accountId, kind } = request.key;
  const outcome = await parts.emails.send({
    accountId,
    kind,
    drafts: [draft],
    domains: parts.verifiedDomainsOnly && kind === 'live' ? [senderDomain(draft.from)] : [],
    idempotency: idempotencyOf(request, inbox.id),
    reply: { inboxId: inbox.id, threadId: thread.id },
  });
  if (outcome.kind === 'missing') return (await answeredBefore(parts, request)) ?? noSuch('thread');
  return answerOf(outcome);
}

function answerOf(outcome: Exclude<SendOutcome, { readonly kind: 'missing' }>): Answer {
  switch (outcome.kind) {
    case 'stored':
    case 'repeated':
      return json(202, { id: outcome.ids[0] });
    case 'unknown-topics':
      throw new Error('a reply has no topic');
    case 'conflict':
    case 'unverified-domains':
    case 'inbox-over-limit':
    case 'thread-over-limit':
      return sendRefusal(outcome);
  }
}
