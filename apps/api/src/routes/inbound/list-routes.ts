import type { RoutingRuleStore } from '@postrider/store';
import { listAnswer } from '../../http/list-answer.ts';
import type { Handle } from '../route.ts';
import { routeEntry } from './route-object.ts';

/** `GET /v1/inbound/routes`: the newest first. */
export function listRoutes(routes: Pick<RoutingRuleStore, 'list'>): Handle {
  return ({ key, query }) =>
    listAnswer(query, {
      noun: 'routingRule',
      read: (request) => routes.list(key.accountId, request),
      show: routeEntry,
    });
}
