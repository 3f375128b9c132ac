import type { BlockedSenderStore, RoutingRuleStore } from '@postrider/store';
import { resourceBody } from '../../http/body-rules.ts';
import type { Route } from '../route.ts';
import { blockSender } from './block-sender.ts';
import { createRoute } from './create-route.ts';
import { deleteRoute } from './delete-route.ts';
import { getBlockedSender } from './get-blocked-sender.ts';
import { getRoute } from './get-route.ts';
import { listBlockedSenders } from './list-blocked-senders.ts';
import { listRoutes } from './list-routes.ts';
import { unblockSender } from './unblock-sender.ts';

const manage = { scope: 'inbound:manage', liveOnly: true, limited: true } as const;
const post = { ...manage, method: 'post', body: resourceBody } as const;
const read = { ...manage, method: 'get', body: 'ignored' } as const;
const remove = { ...manage, method: 'delete', body: 'ignored' } as const;

/** Rules that take received mail to endpoints of their own. */
export function routingRuleRoutes(routes: RoutingRuleStore): readonly Route[] {
  const all = '/v1/inbound/routes';
  return [
    { ...post, path: all, handle: createRoute(routes) },
    { ...read, path: all, handle: listRoutes(routes) },
    { ...read, path: `${all}/:id`, handle: getRoute(routes) },
    { ...remove, path: `${all}/:id`, handle: deleteRoute(routes) },
  ];
}

/** Senders whose mail is held. */
export function blockedSenderRoutes(senders: BlockedSenderStore): readonly Route[] {
  const all = '/v1/inbound/blocked-senders';
  return [
    { ...post, path: all, handle: blockSender(senders) },
    { ...read, path: all, handle: listBlockedSenders(senders) },
    { ...read, path: `${all}/:id`, handle: getBlockedSender(senders) },
    { ...remove, path: `${all}/:id`, handle: unblockSender(senders) },
  ];
}
