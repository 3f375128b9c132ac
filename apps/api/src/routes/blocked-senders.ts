import { LIMITS, parseId, PATTERNS, senderPattern } from '@postrider/domain';
import type { BlockedSender, BlockedSenderStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { resourceBody } from '../http/body-rules.ts';
import { parseFields, resourceFieldRule } from '../http/fields.ts';
import { listAnswer } from '../http/list-answer.ts';
import { parsedText } from '../http/parsed-text.ts';
import { noSuch, tooManyBlockedSenders } from '../problems/answers.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { deleted, idOf, pageOf, text, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const MANAGE = { scope: 'inbound:manage', liveOnly: true, limited: true } as const;

/** Mail from a blocked sender is held. */
export function blockedSenderRoutes(senders: BlockedSenderStore): readonly Documented[] {
  return [
    blockSender(senders),
    listBlockedSenders(senders),
    getBlockedSender(senders),
    unblockSender(senders),
  ];
}

const blockedSenderRequest = z
  .object({
    sender: parsedText(senderPattern, 'is neither a bare email address nor a domain', {
      pattern: PATTERNS.sender,
      description: 'An address; or a domain, which covers its subdomains.',
    }),
  })
  .meta({ id: 'BlockedSenderRequest' });

const blockedSender = z
  .object({
    object: z.literal('blocked_sender'),
    id: idOf('blockedSender'),
    sender: text.meta({ description: 'In lower case, its domain in ASCII.' }),
    created_at: time,
  })
  .meta({ id: 'BlockedSender' });

function blockSender(senders: BlockedSenderStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/inbound/blocked-senders',
    body: resourceBody,
    docs: {
      operationId: 'blockSender',
      summary: 'Hold the mail of a sender',
      description: 'A sender that is blocked already is answered with its entry.',
      request: blockedSenderRequest,
      success: { status: 200, body: blockedSender },
      refusals: ['400 text', '422 text', 'validation-failed'],
    },
    async handle({ key, body }) {
      const parsed = parseFields(body, blockedSenderRequest, ['sender'], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const blocking = await senders.add(key.accountId, parsed.fields.sender);
      if (blocking.kind === 'limit-reached') return tooManyBlockedSenders(LIMITS.blockedSenders);
      return json(200, blockedSenderObject(blocking.blocked));
    },
  };
}

const blockedSenderPage = pageOf(blockedSender).meta({ id: 'BlockedSenderPage' });

function listBlockedSenders(senders: BlockedSenderStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/inbound/blocked-senders',
    docs: {
      operationId: 'listBlockedSenders',
      summary: 'List blocked senders, newest first',
      success: { status: 200, body: blockedSenderPage },
      paged: true,
      refusals: ['validation-failed'],
    },
    async handle({ key, query }) {
      return listAnswer(query, {
        noun: 'blockedSender',
        read: (request) => senders.list(key.accountId, request),
        show: blockedSenderObject,
      });
    },
  };
}

function getBlockedSender(senders: BlockedSenderStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/inbound/blocked-senders/:id',
    docs: {
      operationId: 'getBlockedSender',
      summary: 'Read a blocked sender',
      success: { status: 200, body: blockedSender },
      refusals: ['not-found'],
    },
    async handle({ key, id: written }) {
      const id = parseId('blockedSender', written);
      const blocked = id === null ? null : await senders.find(key.accountId, id);
      return blocked === null ? noSuch('blocked sender') : json(200, blockedSenderObject(blocked));
    },
  };
}

const deletedSender = deleted('blocked_sender', 'blockedSender').meta({ id: 'DeletedBlockedSender' });

function unblockSender(senders: BlockedSenderStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'delete',
    path: '/v1/inbound/blocked-senders/:id',
    docs: {
      operationId: 'unblockSender',
      summary: 'Hold the mail of a sender no longer',
      description: 'Mail that is held stays held.',
      success: { status: 200, body: deletedSender },
      refusals: ['not-found'],
    },
    async handle({ key, id: written }) {
      const id = parseId('blockedSender', written);
      if (id === null || !(await senders.delete(key.accountId, id))) return noSuch('blocked sender');
      return json<AnswerOf<typeof deletedSender>>(200, { object: 'blocked_sender', id, deleted: true });
    },
  };
}

function blockedSenderObject({ id, sender, createdAt }: BlockedSender): AnswerOf<typeof blockedSender> {
  return { object: 'blocked_sender', id, sender, created_at: createdAt.toISOString() };
}
