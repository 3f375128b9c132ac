import type { RoutingRule } from '@postrider/store';

/** What every answer says of a rule. */
export function routeObject({ id, match, endpoint, events, webhookId, createdAt }: RoutingRule) {
  return {
    object: 'inbound_route',
    id,
    match,
    endpoint,
    events,
    webhook: webhookId,
    created_at: createdAt.toISOString(),
  };
}

/** What a list says of each rule, and the answer about one. */
export function routeEntry(route: RoutingRule) {
  return { ...routeObject(route), name: route.name };
}
