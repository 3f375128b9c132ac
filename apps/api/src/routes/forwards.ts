import type { BlobId } from '@postrider/blobs';
import { cutBody, forwardedFile, forwardRequest, parseForward, parseId } from '@postrider/domain';
import type { EmailId, ForwardedFile } from '@postrider/domain';
import type { ThreadEmail } from '@postrider/store';
import { AccountSlots } from '../http/account-slots.ts';
import type { Answer } from '../http/answer.ts';
import { replyBody } from '../http/body-rules.ts';
import { COSTLY, inSlot } from '../http/in-slot.ts';
import { invalid, noSuch } from '../problems/answers.ts';
import type { RouteStores } from '../stores.ts';
import { createdEmail } from './emails.ts';
import type { BlobReader } from './links.ts';
import type { Documented, KeyedRoute, RouteRequest, RouteRules } from './route.ts';
import { messageIdsOf } from './thread-emails.ts';
import {
  findThreadSend,
  invalidDraft,
  sendIntoThread,
  THREAD_SEND_REFUSALS,
  undeliverable,
} from './thread-sends.ts';
import type { ThreadSendRequest } from './thread-sends.ts';

/** The name under which this route keeps its idempotency keys. */
const ROUTE = 'POST /v1/inboxes/:id/threads/:thread/emails/:email/forward';

/** Answers 202 once the forward is stored, in the thread of its message. */
export function forward(stores: RouteStores, rules: RouteRules, blobs: BlobReader): Documented<KeyedRoute> {
  // The files of a message may have 5 MiB in base64. So the API reads the files of few messages at a time.
  const slots = new AccountSlots(COSTLY, null); // null: a forward writes no webhook delivery
  return {
    method: 'post',
    path: '/v1/inboxes/:id/threads/:thread/emails/:email/forward',
    scope: 'inbound:send',
    limited: true,
    body: replyBody,
    docs: {
      operationId: 'forwardEmail',
      summary: 'Forward a message of a thread, with its attachments',
      description:
        'Queued; from there it goes the way of every send. It joins the thread, and counts once in its limits. ' +
        'A repetition gets its 202 also once the message is deleted.',
      request: forwardRequest,
      success: { status: 202, body: createdEmail },
      idempotent: true,
      refusals: THREAD_SEND_REFUSALS,
    },
    async handle(request) {
      const find = () => findThreadSend(stores, request, { route: ROUTE, required: ['to'] });
      const known = await find();
      if (!known.ok) return known.answer;
      return inSlot(slots, request, async () => {
        // A slot may become free only after 30 s. The message may be deleted by then.
        const found = await find();
        return found.ok ? forwardNow({ stores, rules, blobs }, request, found.value) : found.answer;
      });
    },
  };
}

const attachmentDeleted = invalid('An attachment of the message is deleted.');

async function forwardNow(
  { stores, rules, blobs }: { stores: RouteStores; rules: RouteRules; blobs: BlobReader },
  request: RouteRequest,
  { inbox, thread, email, body }: ThreadSendRequest,
): Promise<Answer> {
  if (cutBody(email.html) !== email.html || cutBody(email.text) !== email.text) {
    return invalid('The message has more text or HTML than can be forwarded.');
  }
  if (email.direction === 'outbound' && email.html === null && email.text === null) {
    return invalid('The content of the message is past its days.');
  }
  const files = await filesOf(stores, blobs, request, email);
  if (files === null) return noSuch('message');
  if (files.length < email.attachments.length) return attachmentDeleted;
  const original = { ...email, ids: messageIdsOf(email, rules.awsRegion), files };
  const parsed = parseForward(body, inbox, original);
  if (!parsed.ok) return invalidDraft(parsed.fault);
  const refusal = undeliverable(rules, parsed.draft);
  if (refusal !== null) return refusal;
  const attachments = [...parsed.draft.attachments];
  for (const file of files) {
    const content = await file.read();
    if (content === null) return attachmentDeleted;
    attachments.push(forwardedFile(file, content));
  }
  const draft = { ...parsed.draft, attachments };
  return sendIntoThread(stores, rules, request, {
    inbox,
    thread,
    draft,
    skipped: [], // only a reply skips addresses
    messages: 1, // it counts once: the customer names the recipients, not a stranger
    route: ROUTE,
  });
}

interface ReadableFile extends ForwardedFile {
  /** @returns null when the content is deleted. */
  readonly read: () => Promise<Buffer | null>;
}

/**
 * The files of a received or a sent message: the form of its id says which. Their contents are read one by
 * one.
 *
 * @returns null when the message is deleted.
 */
async function filesOf(
  { emails, messages }: RouteStores,
  blobs: BlobReader,
  { key }: RouteRequest,
  { id }: ThreadEmail,
): Promise<ReadableFile[] | null> {
  const messageId = parseId('message', id);
  if (messageId !== null) {
    const message = await messages.find(key, messageId);
    if (message === null) return null;
    return message.attachments.map((file) => ({ ...file, read: () => blobs.read(file.blob as BlobId) }));
  }
  const emailId = id as EmailId;
  const files = await emails.attachments(key, emailId);
  if (files === null) return null;
  return files.map((file) => ({
    ...file,
    read: () => emails.attachmentPiece({ emailId, position: file.position }, 0, file.size),
  }));
}
