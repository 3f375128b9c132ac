import { LIMITS, requestedBatch } from '@postrider/domain';
import { json } from '../../http/answer.ts';
import { invalidFields } from '../../problems/answers.ts';
import type { BodyCost, Handle } from '../route.ts';
import { submit } from './submit.ts';
import type { Mailroom } from './submit.ts';

/** `POST /v1/emails/batch`: an array of messages, all of them taken in or none. */
export function createBatch(mailroom: Mailroom): Handle {
  return (request) =>
    submit(mailroom, {
      request,
      route: 'POST /v1/emails/batch',
      messages: requestedBatch(request.body as readonly unknown[]),
      success: (ids) => json(200, { data: ids.map((id) => ({ id })) }),
    });
}

/** One for each message. What is no array costs what any request costs; too many messages cost nothing (a ruling). */
export function batchCost(body: unknown): BodyCost {
  if (!Array.isArray(body)) return refusal(1, 'must be a JSON array of messages');
  if (body.length === 0) return refusal(1, 'has no message');
  if (body.length > LIMITS.batchMessages) return refusal(0, `has more than ${LIMITS.batchMessages} messages`);
  return { cost: body.length, refusal: null };
}

function refusal(cost: number, message: string): BodyCost {
  return { cost, refusal: invalidFields([{ field: '', message }]) };
}
