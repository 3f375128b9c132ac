import { replyBody, resourceBody } from '../../http/body-rules.ts';
import type { Route } from '../route.ts';
import { getThreadEmail, listThreadEmails } from './emails.ts';
import { getThread } from './get.ts';
import { listThreads } from './list.ts';
import { reply } from './reply.ts';
import type { ReplyParts } from './reply.ts';
import { updateThread } from './update.ts';

export function threadRoutes(parts: ReplyParts): readonly Route[] {
  const read = { method: 'get', scope: 'inbound:read', limited: true, body: 'ignored' } as const;
  const all = '/v1/inboxes/:id/threads';
  const one = `${all}/:thread`;
  const email = `${one}/emails/:email`;
  const { awsRegion } = parts;
  return [
    { ...read, path: all, handle: listThreads(parts) },
    { ...read, path: one, handle: getThread(parts) },
    {
      ...{ method: 'patch', path: one, scope: 'inbound:manage', limited: true, body: resourceBody },
      handle: updateThread(parts),
    },
    { ...read, path: `${one}/emails`, handle: listThreadEmails(parts, awsRegion) },
    { ...read, path: email, handle: getThreadEmail(parts, awsRegion) },
    {
      ...{ method: 'post', path: `${email}/reply`, scope: 'inbound:send', limited: true, body: replyBody },
      handle: reply(parts),
    },
  ];
}
