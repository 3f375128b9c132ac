import {
  ADDRESS_LENGTH,
  DOMAIN_LENGTH,
  hasControlCharacter,
  inboundAddress,
  LIMITS,
  oneLineText,
  PATTERNS,
} from '@postrider/domain';
import type { Inbox, InboxStore } from '@postrider/store';
import { z } from 'zod';
import { AccountSlots } from '../http/account-slots.ts';
import { json } from '../http/answer.ts';
import { resourceBody } from '../http/body-rules.ts';
import { hasAny, parseFields, resourceFieldRule } from '../http/fields.ts';
import { COSTLY, inSlot } from '../http/in-slot.ts';
import { listAnswer } from '../http/list-answer.ts';
import { parsedText } from '../http/parsed-text.ts';
import { foreignInboundDomain, inboxExists, inboxLimit, noSuch, reservedName } from '../problems/answers.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { count, deleted, idOf, named, nullableText, oneRequired, pageOf, text, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const READ = { scope: 'inbound:read', limited: true } as const;
const MANAGE = { scope: 'inbound:manage', limited: true } as const;

export function inboxRoutes(inboxes: InboxStore): readonly Documented[] {
  // A read counts all unread messages of its inboxes. So the API makes few such reads at a time.
  const slots = new AccountSlots(COSTLY, null);
  return [
    createInbox(inboxes),
    listInboxes(inboxes, slots),
    getInbox(inboxes, slots),
    updateInbox(inboxes),
    deleteInbox(inboxes),
  ];
}

const requestedAddress = parsedText(inboundAddress, 'is not a bare email address', {
  pattern: PATTERNS.inboundAddress,
  maxLength: ADDRESS_LENGTH,
});

/** The part before the at sign. */
const username = z
  .string({ error: 'is not a string' })
  .refine((local) => inboundAddress(`${local}@a.example`) !== null && !hasControlCharacter(local), {
    error: 'is not the local part of an address',
  })
  .meta({ pattern: PATTERNS.inboundName });

const requestedName = oneLineText(LIMITS.inboundNameLength);
const requestedFromName = requestedName.nullable().meta({ description: 'In From of its replies.' });
const names = {
  name: requestedName.nullish().meta({ description: 'Absent: the address.' }),
  from_name: requestedFromName.optional(),
};
const byAddress = z.object({ email_address: requestedAddress, ...names });
const byParts = z
  .object({
    username,
    domain: z
      .string({ error: 'is not a string' })
      .meta({ pattern: PATTERNS.mailDomain, maxLength: DOMAIN_LENGTH }),
    ...names,
  })
  .meta({ not: { required: ['email_address'] } })
  .transform(({ username: local, domain, ...rest }, context) => {
    const parsed = inboundAddress(`${local}@${domain}`);
    if (parsed !== null) return { ...rest, email_address: parsed };
    context.addIssue({ code: 'custom', path: ['domain'], message: 'is not a domain name' });
    return z.NEVER;
  });
const inboxRequest = z.union([byAddress, byParts]).meta({ id: 'InboxRequest' });

/** An `email_address` wins over `username` and `domain`: their values are then not checked. */
function parseInboxRequest(body: unknown) {
  const usesParts = !hasAny(body, ['email_address']) && hasAny(body, ['username']);
  return usesParts
    ? parseFields(body, byParts, ['username', 'domain'], resourceFieldRule)
    : parseFields(body, byAddress, ['email_address'], resourceFieldRule);
}

const createdInbox = named('inbox', 'inbox').meta({ id: 'CreatedInbox' });

function createInbox(inboxes: InboxStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/inboxes',
    body: resourceBody,
    docs: {
      operationId: 'createInbox',
      summary: 'Make an inbox',
      description: 'Its mail is of the kind of the key: live or test.',
      request: inboxRequest,
      success: { status: 201, body: createdInbox },
      refusals: ['400 text', '422 text', 'validation-failed', 'inbox-limit', 'inbox-exists'],
    },
    async handle({ key, body }) {
      const parsed = parseInboxRequest(body);
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
          return json<AnswerOf<typeof createdInbox>>(201, { object: 'inbox', id: creation.id });
        case 'foreign-domain':
          return foreignInboundDomain(emailAddress);
        case 'reserved-name':
          return reservedName(emailAddress);
        case 'limit-reached':
          return inboxLimit;
        case 'exists':
          return inboxExists;
      }
    },
  };
}

const inboxFields = {
  id: idOf('inbox'),
  name: text,
  email_address: text.meta({ description: 'In lower case, its domain in ASCII, without a tag.' }),
  from_name: nullableText,
  unread: count,
  last_received: nullableText.meta({ format: 'date-time' }),
  created_at: time,
  updated_at: time,
};
const inboxEntry = z.object(inboxFields);
const inboxPage = pageOf(inboxEntry).meta({ id: 'InboxPage' });

/** The inboxes of the key's kind, live or test. */
function listInboxes(inboxes: InboxStore, slots: AccountSlots): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inboxes',
    docs: {
      operationId: 'listInboxes',
      summary: 'List inboxes, newest first',
      success: { status: 200, body: inboxPage },
      paged: true,
      refusals: ['validation-failed'],
    },
    async handle(request) {
      return inSlot(slots, request, () =>
        listAnswer(request.query, {
          noun: 'inbox',
          read: (page) => inboxes.list(request.key, page),
          show: inboxObject,
        }),
      );
    },
  };
}

const oneInbox = z
  .object({
    object: z.literal('inbox'),
    ...inboxFields,
    domain_id: text.meta({ description: 'Empty on a shared domain.' }),
    receiving_address: text,
    drafts: z.literal(0),
  })
  .meta({ id: 'Inbox' });

function getInbox(inboxes: InboxStore, slots: AccountSlots): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inboxes/:id',
    docs: {
      operationId: 'getInbox',
      summary: 'Read an inbox, by its id or its address',
      success: { status: 200, body: oneInbox },
      refusals: ['not-found'],
    },
    async handle(request) {
      return inSlot(slots, request, async () => {
        const inbox = await inboxes.find(request.key, request.id);
        if (inbox === null) return noSuch('inbox');
        return json<AnswerOf<typeof oneInbox>>(200, {
          object: 'inbox',
          ...inboxObject(inbox),
          domain_id: inbox.domainId ?? '',
          receiving_address: inbox.address,
          drafts: 0,
        });
      });
    },
  };
}

const CHANGEABLE = ['name', 'from_name'] as const;

const inboxUpdate = z
  .object({ name: requestedName.exactOptional(), from_name: requestedFromName.exactOptional() })
  .meta({
    id: 'InboxUpdate',
    ...oneRequired(CHANGEABLE),
  });
const updatedInbox = named('inbox', 'inbox').meta({ id: 'UpdatedInbox' });

function updateInbox(inboxes: InboxStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'patch',
    path: '/v1/inboxes/:id',
    body: resourceBody,
    docs: {
      operationId: 'updateInbox',
      summary: 'Change the names of an inbox, by its id or its address',
      request: inboxUpdate,
      success: { status: 200, body: updatedInbox },
      refusals: ['400 text', '422 text', 'validation-failed', 'not-found'],
    },
    async handle({ key, id: idOrAddress, body }) {
      if (!hasAny(body, CHANGEABLE)) return resourceFieldRule.missing(CHANGEABLE.join(' or '));
      const parsed = parseFields(body, inboxUpdate, [], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const { from_name: fromName, ...changes } = parsed.fields;
      const id = await inboxes.update(
        key,
        idOrAddress,
        fromName === undefined ? changes : { ...changes, fromName },
      );
      if (id === null) return noSuch('inbox');
      return json<AnswerOf<typeof updatedInbox>>(200, { object: 'inbox', id });
    },
  };
}

const deletedInbox = deleted('inbox', 'inbox').meta({ id: 'DeletedInbox' });

function deleteInbox(inboxes: InboxStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'delete',
    path: '/v1/inboxes/:id',
    docs: {
      operationId: 'deleteInbox',
      summary: 'Delete an inbox, by its id or its address, with its messages and threads',
      success: { status: 200, body: deletedInbox },
      refusals: ['not-found'],
    },
    async handle({ key, id: idOrAddress }) {
      const id = await inboxes.delete(key, idOrAddress);
      if (id === null) return noSuch('inbox');
      return json<AnswerOf<typeof deletedInbox>>(200, { object: 'inbox', id, deleted: true });
    },
  };
}

/** An inbox in the shape of Resend's list. */
function inboxObject(inbox: Inbox): AnswerOf<typeof inboxEntry> {
  return {
    id: inbox.id,
    name: inbox.name,
    email_address: inbox.address,
    from_name: inbox.fromName,
    unread: inbox.unread,
    last_received: inbox.lastReceived?.toISOString() ?? null,
    created_at: inbox.createdAt.toISOString(),
    updated_at: inbox.updatedAt.toISOString(),
  };
}
