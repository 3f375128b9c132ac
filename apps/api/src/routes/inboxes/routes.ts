import type { InboxStore } from '@postrider/store';
import { resourceBody } from '../../http/body-rules.ts';
import type { Route } from '../route.ts';
import { createInbox } from './create.ts';
import { deleteInbox } from './delete.ts';
import { getInbox } from './get.ts';
import { listInboxes } from './list.ts';

export function inboxRoutes(inboxes: InboxStore): readonly Route[] {
  const read = { method: 'get', scope: 'inbound:read', limited: true, body: 'ignored' } as const;
  const manage = { scope: 'inbound:manage', limited: true } as const;
  const one = '/v1/inboxes/:id';
  return [
    { ...manage, method: 'post', path: '/v1/inboxes', body: resourceBody, handle: createInbox(inboxes) },
    { ...read, path: '/v1/inboxes', handle: listInboxes(inboxes) },
    { ...read, path: one, handle: getInbox(inboxes) },
    { ...manage, method: 'delete', path: one, body: 'ignored', handle: deleteInbox(inboxes) },
  ];
}
