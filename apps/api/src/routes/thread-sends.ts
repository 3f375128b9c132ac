import { parseId, requestDigest, smtpUtf8Faults } from '@postrider/domain';
import type { DraftFault, EmailDraft, InboxId, ReplyDraft } from '@postrider/domain';
import type { SendOutcome, ThreadEmail } from '@postrider/store';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { notAnObject, resourceFieldRule } from '../http/fields.ts';
import { invalid, noSuch } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import type { RouteStores } from '../stores.ts';
import type { Refusal, RouteRequest, RouteRules } from './route.ts';
import { parseIdempotencyKey, sendOf, sendRefusal } from './send-emails.ts';
import { findThreadEmail } from './threads.ts';
import type { Found, InThread } from './threads.ts';

/* Replies and forwards share this: an inbox sends mail into a mail thread. */

export const THREAD_SEND_REFUSALS = [
  '400 text',
  '422 text',
  'validation-failed',
  'not-found',
  'domain-not-verified',
  'idempotency-conflict',
  'inbox-rate-limited',
  'thread-rate-limited',
] as const satisfies readonly Refusal[];

/** A message of a thread, and the body of a request that sends something about it. */
export interface ThreadSendRequest extends InThread {
  readonly email: ThreadEmail;
  readonly body: object;
}

/**
 * Finds the message that the request names, and checks what all such requests have: a body that is an object
 * with the required fields, and a valid idempotency key or none. A repetition gets its first answer.
 */
export async function findThreadSend(
  stores: RouteStores,
  request: RouteRequest,
  { route, required }: { readonly route: string; readonly required: readonly string[] },
): Promise<Found<ThreadSendRequest>> {
  const earlier = await earlierAnswer(stores, request, route);
  if (earlier !== null) return { ok: false, answer: earlier };
  const found = await findThreadEmail(stores, request);
  if (!found.ok) return found;
  const { body } = request;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { ok: false, answer: notAnObject };
  }
  const missing = required.find((field) => !Object.hasOwn(body, field));
  if (missing !== undefined) return { ok: false, answer: resourceFieldRule.missing(missing) };
  const key = parseIdempotencyKey(request.headers);
  if (!key.ok) return { ok: false, answer: invalid(`${key.fault.field} ${key.fault.message}.`) };
  return { ok: true, value: { ...found.value, body } };
}

/**
 * Finds the answer to an earlier request with the same idempotency key. A repetition gets it even when the
 * message or its files were deleted meanwhile. @returns null when the store remembers none
 */
async function earlierAnswer(
  stores: RouteStores,
  request: RouteRequest,
  route: string,
): Promise<Answer | null> {
  const inboxId =
    parseId('inbox', request.id) ?? (await stores.inboxes.identify(request.key, request.id))?.id;
  const idempotency = inboxId === undefined ? null : idempotencyOf(request, inboxId, route);
  if (idempotency === null) return null;
  const recalled = await stores.emails.recall(request.key, idempotency);
  return recalled === null ? null : answerOf(recalled);
}

/** The answer to a body that breaks a rule. It names the field, and the value when that is at fault. */
export function invalidDraft({ field, message, value }: DraftFault): Answer {
  return invalid(`${field}${value === undefined ? '' : ` ${quoted(value)}`} ${message}.`);
}

/**
 * Refuses a message that the provider cannot deliver. The answer names the address and no field, because the
 * address may come from the mail thread and not from the body.
 */
export function undeliverable({ smtpUtf8 }: RouteRules, draft: EmailDraft): Answer | null {
  const [fault] = smtpUtf8 ? [] : smtpUtf8Faults(draft);
  return fault === undefined ? null : invalid(`${quoted(fault.value)} ${fault.message}.`);
}

/** @returns null without a valid idempotency key */
function idempotencyOf({ headers, params, body }: RouteRequest, inboxId: InboxId, route: string) {
  const parsed = parseIdempotencyKey(headers);
  if (!parsed.ok || parsed.key === null) return null;
  const { thread, email } = params;
  return { route, key: parsed.key, digest: requestDigest({ inbox: inboxId, thread, email, body }) };
}

/** A message of an inbox, and the mail thread that it joins. */
interface ThreadSend extends InThread, ReplyDraft {
  /** The name under which the route keeps its idempotency keys. */
  readonly route: string;
}

/** Stores the message under the limits of the inbox and of the thread. */
export async function sendIntoThread(
  stores: RouteStores,
  rules: RouteRules,
  request: RouteRequest,
  { inbox, thread, draft, skipped, messages, route }: ThreadSend,
): Promise<Answer> {
  const outcome = await stores.emails.send({
    ...sendOf(request, rules, [draft]),
    idempotency: idempotencyOf(request, inbox.id, route),
    reply: { inboxId: inbox.id, threadId: thread.id, messages, skipped },
  });
  if (outcome.kind === 'missing') return noSuch('thread');
  return answerOf(outcome);
}

function answerOf(outcome: Exclude<SendOutcome, { readonly kind: 'missing' }>): Answer {
  switch (outcome.kind) {
    case 'stored':
    case 'repeated': {
      const { ids, skipped } = outcome;
      const [id] = ids;
      if (id === undefined) throw new Error('the store returned no id for a reply');
      return json(202, skipped.length === 0 ? { id } : { id, skipped });
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
