import { parseReply, requestDigest, senderDomain } from '@postrider/domain';
import type { EmailStore } from '@postrider/store';
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
  readonly emails: Pick<EmailStore, 'send'>;
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
    if (!found.ok) return found.refusal;
    const { inbox, email } = found.value;
    const { body } = request;
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      return invalid('The body is not an object.');
    const key = parseIdempotencyKey(request.headers);
    if (!key.ok) return invalid(`${key.fault.field} ${key.fault.message}.`);
    const answered = { ...email, ids: idsOf(email, parts.awsRegion) };
    const parsed = parseReply(body, inbox, answered);
    if (!parsed.ok) return invalid(parsed.fault);
    return send(parts, request, found.value, {
      draft: parsed.draft,
      emailId: email.id,
      idempotencyKey: key.key,
    });
  };
}

interface Reply {
  readonly draft: Extract<ReturnType<typeof parseReply>, { ok: true }>['draft'];
  /** What it answers. */
  readonly emailId: string;
  readonly idempotencyKey: string | null;
}

async function send(
  { emails, verifiedDomainsOnly }: ReplyParts,
  { key, body }: RouteRequest,
  { inbox, thread }: InThread,
  { draft, emailId, idempotencyKey }: Reply,
): Promise<Answer> {
  const meaning = { inbox: inbox.id, thread: thread.id, email: emailId, body };
  const outcome = await emails.send({
    accountId: key.accountId,
    kind: key.kind,
    drafts: [draft],
    domains: verifiedDomainsOnly && key.kind === 'live' ? [senderDomain(draft.from)] : [],
    idempotency:
      idempotencyKey === null ? null : { route: ROUTE, key: idempotencyKey, digest: requestDigest(meaning) },
    reply: { inboxId: inbox.id, threadId: thread.id },
  });
  switch (outcome.kind) {
    case 'stored':
    case 'repeated':
      return json(202, { id: outcome.ids[0] });
    case 'missing':
      return noSuch('thread');
    case 'unknown-topics':
      throw new Error('a reply has no topic');
    case 'conflict':
    case 'unverified-domains':
    case 'inbox-over-limit':
    case 'thread-over-limit':
      return sendRefusal(outcome);
  }
}
