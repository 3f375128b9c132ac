import { parseId } from '@postrider/domain';
import type { EmailStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/** `GET /v1/emails/{id}`, in the shape of Resend's, so that its SDK can read it. Nothing can be scheduled yet. */
export function getEmail(emails: Pick<EmailStore, 'find'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('email', written);
    const email = id === null ? null : await emails.find(key.accountId, id);
    if (email === null) return noSuch('email');
    return json(200, {
      object: 'email',
      id: email.id,
      from: email.from,
      to: email.to,
      cc: email.cc,
      bcc: email.bcc,
      reply_to: email.replyTo,
      subject: email.subject,
      html: email.html,
      text: email.text,
      created_at: email.createdAt.toISOString(),
      scheduled_at: null,
      last_event: email.lastEvent,
    });
  };
}
