import type { RoutingRuleStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import {
  foreignInboundDomain,
  foreignWholeDomain,
  routeExists,
  tooManyWebhooks,
} from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { routeObject } from './route-object.ts';
import { parseRouteRequest } from './route-request.ts';

/** `POST /v1/inbound/routes`. The one answer that carries the signing secret of the rule's webhook. */
export function createRoute(routes: Pick<RoutingRuleStore, 'create'>): Handle {
  return async ({ key: { accountId }, body }) => {
    const parsed = parseRouteRequest(body);
    if (!parsed.ok) return parsed.refusal;
    const { match, endpoint, events, name = null } = parsed.fields;
    const creation = await routes.create({ accountId, match, endpoint, events, name });
    switch (creation.kind) {
      case 'created':
        return json(201, { ...routeObject(creation.rule), signing_secret: creation.signingSecret });
      case 'foreign-domain':
        return match.isWholeDomain ? foreignWholeDomain(match.match) : foreignInboundDomain(match.match);
      case 'limit-reached':
        return tooManyWebhooks(creation.max);
      case 'exists':
        return routeExists;
    }
  };
}
