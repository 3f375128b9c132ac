import type { EmailStore } from '@postrider/store';
import { listAnswer } from '../../http/list-answer.ts';
import type { Handle } from '../route.ts';
import { emailObject } from './email-object.ts';

/** `GET /v1/emails`: the messages that the key may see, the newest first, in the shape of Resend's list. */
export function listEmails(emails: Pick<EmailStore, 'list'>): Handle {
  return ({ key, query }) =>
    listAnswer(query, {
      noun: 'email',
      read: (request) => emails.list(key, request),
      show: emailObject,
    });
}
