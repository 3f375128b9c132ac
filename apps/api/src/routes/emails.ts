import { emailRequest, LIMITS, parseId, requestedBatch, requestedEmail } from '@postrider/domain';
import { messageIdOf } from '@postrider/mail';
import type { EmailStore, ListedEmail } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { batchBody, emailBody } from '../http/body-rules.ts';
import { listAnswer } from '../http/list-answer.ts';
import { invalidFields, noSuch } from '../problems/answers.ts';
import type { BodyCost, Documented, KeyedRoute, Refusal, RouteRules } from './route.ts';
import { idOf, nullableText, pageOf, text, texts, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';
import { sendEmails } from './send-emails.ts';

const SEND = { scope: 'emails:send', limited: true } as const;
const READ = { scope: 'emails:read', limited: true } as const;

export function emailRoutes(emails: EmailStore, rules: RouteRules): readonly Documented[] {
  return [createEmail(emails, rules), createBatch(emails, rules), listEmails(emails), getEmail(emails)];
}

const SEND_REFUSALS: readonly Refusal[] = [
  'domain-not-verified',
  'idempotency-conflict',
  'validation-failed',
  'inbox-rate-limited',
  'thread-rate-limited',
];

/** The answer of every HTTP route that sends one message. */
export const createdEmail = z.object({ id: idOf('email') }).meta({ id: 'CreatedEmail' });

/**
 * Answers once the message is stored and due to be sent. A message of a test key is stored and never sent.
 */
function createEmail(emails: EmailStore, rules: RouteRules): Documented<KeyedRoute> {
  return {
    ...SEND,
    method: 'post',
    path: '/v1/emails',
    body: emailBody,
    docs: {
      operationId: 'sendEmail',
      summary: 'Send a message',
      description: 'Answered once the message is stored; it is handed to the provider afterwards.',
      request: emailRequest,
      idempotent: true,
      success: { status: 200, body: createdEmail },
      refusals: [...SEND_REFUSALS, '413 text'],
    },
    async handle(request) {
      return sendEmails(emails, rules, {
        request,
        route: 'POST /v1/emails',
        messages: [requestedEmail(request.body)],
        success: ([id]) => {
          if (id === undefined) throw new Error('the store returned no id for a message');
          return json<AnswerOf<typeof createdEmail>>(200, { id });
        },
      });
    },
  };
}

const emailBatchRequest = z
  .array(emailRequest)
  .min(1)
  .max(LIMITS.batchMessages)
  .meta({ id: 'EmailBatchRequest' });
const createdEmails = z
  .object({ data: z.array(z.object({ id: idOf('email') })) })
  .meta({ id: 'CreatedEmails' });

/** Sends all messages of an array, or none. */
function createBatch(emails: EmailStore, rules: RouteRules): Documented<KeyedRoute> {
  return {
    ...SEND,
    method: 'post',
    path: '/v1/emails/batch',
    body: batchBody,
    cost: batchCost,
    docs: {
      operationId: 'sendEmails',
      summary: 'Send many messages: all of them or none',
      description: 'Costs as much of the key’s limit as it has messages.',
      request: emailBatchRequest,
      idempotent: true,
      success: { status: 200, body: createdEmails },
      refusals: SEND_REFUSALS,
    },
    async handle(request) {
      return sendEmails(emails, rules, {
        request,
        route: 'POST /v1/emails/batch',
        messages: requestedBatch(request.body as readonly unknown[]),
        success: (ids) => json<AnswerOf<typeof createdEmails>>(200, { data: ids.map((id) => ({ id })) }),
      });
    },
  };
}

/** Each message costs 1. A refused body costs 1. `batchBody` refuses too many messages. */
function batchCost(body: unknown): BodyCost {
  if (Array.isArray(body) && body.length > 0) return { cost: body.length, refusal: null };
  const message = Array.isArray(body) ? 'has no message' : 'must be a JSON array of messages';
  return { cost: 1, refusal: invalidFields([{ field: '', message }]) };
}

const emailFields = {
  id: idOf('email'),
  from: text,
  to: texts,
  cc: texts,
  bcc: texts,
  reply_to: texts,
  subject: text,
  created_at: time,
  scheduled_at: z.null(),
  message_id: nullableText.meta({
    description: 'The provider’s id. With SMTP and the sandbox: the Message-ID. Null before it is sent.',
  }),
  last_event: text.meta({ description: 'The most important event so far, such as `delivered`.' }),
  topic_id: nullableText,
};
const emailEntry = z.object(emailFields);
const emailPage = pageOf(emailEntry).meta({ id: 'EmailPage' });

function listEmails(emails: EmailStore): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/emails',
    docs: {
      operationId: 'listEmails',
      summary: 'List messages, newest first',
      success: { status: 200, body: emailPage },
      paged: true,
      refusals: ['validation-failed'],
    },
    async handle({ key, query }) {
      return listAnswer(query, {
        noun: 'email',
        read: (request) => emails.list(key, request),
        show: emailObject,
      });
    },
  };
}

/** `html` or `text` has a value until the operator's retention removes the contents. */
const content = nullableText.meta({ description: 'Both are null once the contents are past their days.' });
const oneEmail = z
  .object({
    object: z.literal('email'),
    ...emailFields,
    html: content,
    text: content,
    tags: z.array(z.object({ name: text, value: text })),
  })
  .meta({ id: 'Email' });

function getEmail(emails: EmailStore): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/emails/:id',
    docs: {
      operationId: 'getEmail',
      summary: 'Read a message and what is last known of it',
      success: { status: 200, body: oneEmail },
      refusals: ['not-found'],
    },
    async handle({ key, id: written }) {
      const id = parseId('email', written);
      const email = id === null ? null : await emails.find(key, id);
      if (email === null) return noSuch('email');
      return json<AnswerOf<typeof oneEmail>>(200, {
        object: 'email',
        ...emailObject(email),
        html: email.html,
        text: email.text,
        tags: email.tags,
      });
    },
  };
}

/** A message in the shape of Resend's, so that its SDK can read it. `scheduled_at` is always null. */
function emailObject(email: ListedEmail): AnswerOf<typeof emailEntry> {
  return {
    id: email.id,
    from: email.from,
    to: email.to,
    cc: email.cc,
    bcc: email.bcc,
    reply_to: email.replyTo,
    subject: email.subject,
    created_at: email.createdAt.toISOString(),
    scheduled_at: null,
    message_id: shownMessageId(email),
    last_event: email.lastEvent,
    topic_id: email.topicId,
  };
}

/** The provider's id, or our Message-ID if it gave none. Null before the provider accepted the message. */
function shownMessageId(email: ListedEmail): string | null {
  if (email.status !== 'sent') return null;
  return email.providerMessageId ?? messageIdOf({ emailId: email.id, from: email.from });
}
