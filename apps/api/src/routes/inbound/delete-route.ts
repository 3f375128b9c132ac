import { parseId } from '@postrider/domain';
import type { RoutingRuleStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/** `DELETE /v1/inbound/routes/{id}`: its webhook goes with it, with queued deliveries and dead letters. */
export function deleteRoute(routes: Pick<RoutingRuleStore, 'delete'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('routingRule', written);
    const deleted = id !== null && (await routes.delete(key.accountId, id));
    return deleted ? json(200, { object: 'inbound_route', id, deleted: true }) : noSuch('inbound route');
  };
}
