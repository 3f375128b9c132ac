import { cutBody, inWords, LIMITS } from '@postrider/domain';
import type { EmailId } from '@postrider/domain';
import { sentMessageIds } from '@postrider/mail';
import { isThreadEmailId } from '@postrider/store';
import type { ThreadEmail } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { pageAnswer } from '../http/list-answer.ts';
import type { RouteStores } from '../stores.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { complete, count, nullableText, pageOf, text, texts, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';
import { findThread, findThreadEmail } from './threads.ts';

const READ = { scope: 'inbound:read', limited: true } as const;

/**
 * @param awsRegion the setting `AWS_REGION`, with any mail provider: SES writes Message-IDs with the region,
 *   also when it is used over SMTP.
 */
export function threadEmailRoutes(stores: RouteStores, awsRegion: string | undefined): readonly Documented[] {
  return [listThreadEmails(stores, awsRegion), getThreadEmail(stores, awsRegion)];
}

const threadEmail = z
  .object({
    id: text.meta({ description: 'Of a received message (`msg_…`) or of a sent one (`em_…`).' }),
    direction: z.enum(['inbound', 'outbound']),
    from: text,
    to: texts,
    cc: texts,
    bcc: texts,
    reply_to: texts,
    subject: nullableText,
    message_id: nullableText,
    html: nullableText,
    html_truncated: z.boolean(),
    text: nullableText,
    text_truncated: z.boolean(),
    complete,
    attachments: z.array(z.object({ id: text, filename: nullableText, size: count })),
    read: z.boolean(),
    received_at: time,
  })
  .meta({ id: 'ThreadEmail' });
const threadEmailPage = pageOf(threadEmail).meta({ id: 'ThreadEmailPage' });

function listThreadEmails(stores: RouteStores, awsRegion: string | undefined): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inboxes/:id/threads/:thread/emails',
    docs: {
      operationId: 'listThreadEmails',
      summary: 'List what a thread received and sent, newest first',
      description:
        `A message has the first ${inWords(LIMITS.messageBodyBytes)} of its text and of its HTML, and its first ` +
        `${LIMITS.recordEntries} attachments. A page ends early at ${inWords(LIMITS.threadPageBytes)} of bodies, names and addresses.`,
      success: { status: 200, body: threadEmailPage },
      paged: true,
      refusals: ['not-found', 'validation-failed'],
    },
    async handle(request) {
      const found = await findThread(stores, request);
      if (!found.ok) return found.answer;
      return pageAnswer(request.query, (written) => (isThreadEmailId(written) ? written : null), {
        read: (page) => stores.threads.emails(found.value.thread.id, page),
        show: (email) => threadEmailObject(email, awsRegion),
      });
    },
  };
}

function getThreadEmail(stores: RouteStores, awsRegion: string | undefined): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inboxes/:id/threads/:thread/emails/:email',
    docs: {
      operationId: 'getThreadEmail',
      summary: 'Read a message of a thread',
      success: { status: 200, body: threadEmail },
      refusals: ['not-found'],
    },
    async handle(request) {
      const found = await findThreadEmail(stores, request);
      return found.ok ? json(200, threadEmailObject(found.value.email, awsRegion)) : found.answer;
    },
  };
}

/** A message of a mail thread, in the shape of Resend's. */
function threadEmailObject(email: ThreadEmail, awsRegion: string | undefined): AnswerOf<typeof threadEmail> {
  const messageId = messageIdsOf(email, awsRegion).at(-1);
  const html = cutBody(email.html);
  const plainText = cutBody(email.text);
  return {
    id: email.id,
    direction: email.direction,
    from: email.from,
    to: email.to,
    cc: email.cc,
    bcc: email.bcc,
    reply_to: email.replyTo,
    subject: email.subject,
    message_id: messageId === undefined ? null : `<${messageId}>`,
    html,
    html_truncated: html !== email.html,
    text: plainText,
    text_truncated: plainText !== email.text,
    complete: email.complete,
    attachments: email.attachments,
    read: email.read,
    received_at: email.createdAt.toISOString(),
  };
}

/** The Message-IDs that readers of the message may see, without brackets. The most likely one is last. */
export function messageIdsOf(email: ThreadEmail, awsRegion: string | undefined): string[] {
  const { direction, id, from, providerMessageId, messageId } = email;
  if (direction === 'inbound') return messageId === null ? [] : [messageId];
  return sentMessageIds({ emailId: id as EmailId, from, providerMessageId }, awsRegion);
}
