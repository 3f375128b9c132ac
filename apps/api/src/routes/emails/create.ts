import { requestedEmail } from '@postrider/domain';
import { json } from '../../http/answer.ts';
import type { Handle } from '../route.ts';
import { submit } from './submit.ts';
import type { Mailroom } from './submit.ts';

/**
 * `POST /v1/emails`. Answered once the message and its place in the outbox are stored; a message of a test key is
 * stored and goes no further.
 */
export function createEmail(mailroom: Mailroom): Handle {
  return (request) =>
    submit(mailroom, {
      request,
      route: 'POST /v1/emails',
      messages: [requestedEmail(request.body)],
      success: ([id]) => json(200, { id }),
    });
}
