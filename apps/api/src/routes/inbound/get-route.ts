import { parseId } from '@postrider/domain';
import type { RoutingRuleStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { routeEntry } from './route-object.ts';

/** `GET /v1/inbound/routes/{id}`: as the list has it, without the secret. */
export function getRoute(routes: Pick<RoutingRuleStore, 'find'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('routingRule', written);
    const route = id === null ? null : await routes.find(key.accountId, id);
    return route === null ? noSuch('inbound route') : json(200, routeEntry(route));
  };
}
