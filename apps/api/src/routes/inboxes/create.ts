import { hasControlCharacter, inboundAddress, LIMITS } from '@postrider/domain';
import type { InboxStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../../http/answer.ts';
import { parseFields, resourceFields } from '../../http/fields.ts';
import { shownText } from '../../http/shown-text.ts';
import { foreignInboundDomain, inboxExists, inboxLimit } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

const address = z.string({ error: 'is not a string' }).transform((text, context): string => {
  const parsed = inboundAddress(text);
  if (parsed !== null) return parsed;
  context.addIssue('is not a bare email address');
  return z.NEVER;
});

/** The part before the at sign. */
const username = z
  .string({ error: 'is not a string' })
  .refine((text) => inboundAddress(`${text}@a.example`) !== null && !hasControlCharacter(text), {
    error: 'is not the local part of an address',
  });

const names = {
  name: shownText(LIMITS.inboundNameLength).nullish(),
  from_name: shownText(LIMITS.inboundNameLength).nullish(),
};
const byAddress = z.object({ email_address: address, ...names });
const byParts = z
  .object({ username, domain: z.string({ error: 'is not a string' }), ...names })
  .transform(({ username: local, domain, ...rest }, context) => {
    const parsed = inboundAddress(`${local}@${domain}`);
    if (parsed !== null) return { ...rest, email_address: parsed };
    context.addIssue({ code: 'custom', path: ['domain'], message: 'is not a domain name' });
    return z.NEVER;
  });

/** `POST /v1/inboxes`: `email_address`, or `username` and `domain`. Its mail is of the kind of the key. */
export function createInbox(inboxes: Pick<InboxStore, 'create'>): Handle {
  return async ({ key, body }) => {
    const isByParts = hasField(body, 'username') && !hasField(body, 'email_address');
    const parsed = isByParts
      ? parseFields(body, byParts, ['username', 'domain'], resourceFields)
      : parseFields(body, byAddress, ['email_address'], resourceFields);
    if (!parsed.ok) return parsed.refusal;
    const { email_address: emailAddress, name, from_name: fromName } = parsed.fields;
    const creation = await inboxes.create({
      accountId: key.accountId,
      kind: key.kind,
      address: emailAddress,
      name: name ?? emailAddress,
      fromName: fromName ?? null,
    });
    switch (creation.kind) {
      case 'created':
        return json(201, { object: 'inbox', id: creation.id });
      case 'foreign-domain':
        return foreignInboundDomain(emailAddress);
      case 'limit-reached':
        return inboxLimit;
      case 'exists':
        return inboxExists;
    }
  };
}

function hasField(body: unknown, field: string): boolean {
  return typeof body === 'object' && body !== null && Object.hasOwn(body, field);
}
