import { parseId } from '@postrider/domain';
import type { EmailStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { emailObject } from './email-object.ts';

/** `GET /v1/emails/{id}`, in the shape of Resend's, so that its SDK can read it. */
export function getEmail(emails: Pick<EmailStore, 'find'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('email', written);
    const email = id === null ? null : await emails.find(key, id);
    if (email === null) return noSuch('email');
    const { html, text, tags } = email;
    return json(200, { object: 'email', ...emailObject(email), html, text, tags });
  };
}
