import { LIMITS, senderPattern } from '@postrider/domain';
import type { BlockedSenderStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../../http/answer.ts';
import { parseFields, resourceFields } from '../../http/fields.ts';
import { tooManyBlockedSenders } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { blockedSenderObject } from './blocked-sender-object.ts';

/** The body of `POST /v1/inbound/blocked-senders`. */
export const blockedSenderRequest = z.object({
  sender: z
    .string({ error: 'is not a string' })
    .meta({ description: 'An address; or a domain, which covers its subdomains.' })
    .transform((text, context): string => {
      const pattern = senderPattern(text);
      if (pattern !== null) return pattern;
      context.addIssue('is neither a bare email address nor a domain');
      return z.NEVER;
    }),
});

/** `POST /v1/inbound/blocked-senders`: 200 with the entry, also where it is there already. */
export function blockSender(senders: Pick<BlockedSenderStore, 'add'>): Handle {
  return async ({ key, body }) => {
    const parsed = parseFields(body, blockedSenderRequest, ['sender'], resourceFields);
    if (!parsed.ok) return parsed.refusal;
    const blocking = await senders.add(key.accountId, parsed.fields.sender);
    if (blocking.kind === 'limit-reached') return tooManyBlockedSenders(LIMITS.blockedSenders);
    return json(200, blockedSenderObject(blocking.blocked));
  };
}
