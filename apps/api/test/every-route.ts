import type { Scope } from '@postrider/domain';
import request from 'supertest';
import { describedRoutes } from '../src/docs/openapi.ts';
import type { Route } from '../src/routes/route.ts';
import type { RouteContract } from './fuzz/route-contract.ts';
import { ROUTE_CONTRACTS } from './fuzz/route-contracts.ts';
import { routeName } from './route-name.ts';
import { filledPath, idOfNothing } from './route-paths.ts';

/**
 * A route of the API, and the rules of the contract for it. They are written here a second time, because the
 * tests check the API's own. A new route needs an entry in `ROUTE_CONTRACTS`. Then every test of all routes
 * includes it.
 */
export interface KnownRoute {
  readonly name: string;
  readonly method: Route['method'];
  /** With `:id` in the place of an id. */
  readonly path: string;
  /** The required parameters. */
  readonly query: string;
  /** Null: the route needs no key. */
  readonly scope: Scope | null;
  /** Whether the key's rate limit applies. */
  readonly limited: boolean;
  readonly contract: RouteContract;
  /** A valid body that has something to store, where the route reads one. */
  readonly body?: object;
}

export type KeyedRoute = KnownRoute & { readonly scope: Scope };

/** Contract 5, and the list of scopes in docs/api.md. The scope of a route for emails depends on its method. */
const SCOPES_OF: ReadonlyMap<string, Scope> = new Map([
  ['webhooks', 'webhooks:manage'],
  ['events', 'webhooks:manage'],
  ['domains', 'domains:manage'],
  ['suppressions', 'suppressions:manage'],
  ['topics', 'suppressions:manage'],
]);

const INBOUND_FAMILIES = ['inboxes', 'inbound'];
/** Here a GET also needs `inbound:manage`. */
const INBOUND_RULES = /^\/v1\/inbound\/(routes|blocked-senders)(\/|$)/;

export const EVERY_ROUTE: readonly KnownRoute[] = describedRoutes().map(({ method, path }) => {
  const name = routeName({ method, path });
  const contract = ROUTE_CONTRACTS[name];
  if (contract === undefined)
    throw new Error(`${name} needs an entry in ROUTE_CONTRACTS of test/fuzz/route-contracts.ts`);
  const scope = scopeOf(method, path);
  const body = contract.body?.valid.at(-1);
  return {
    name,
    method,
    path,
    query: contract.query ?? '',
    scope,
    limited: scope !== null && scope !== 'suppressions:manage', // contract 8, rule 3
    contract,
    ...(body === undefined ? {} : { body }),
  };
});

export const KEYED_ROUTES = EVERY_ROUTE.filter((route): route is KeyedRoute => route.scope !== null);

/** Each route after its name, for `describe.each`. */
export function titled<R extends KnownRoute>(routes: readonly R[]): [string, R][] {
  return routes.map((route) => [route.name, route]);
}

/** @throws Error when no rule names the scope of the path. */
function scopeOf(method: Route['method'], path: string): Scope | null {
  const [, version, family = ''] = path.split('/');
  if (version !== 'v1') return null;
  if (path === '/v1/emails/:id/events') return 'webhooks:manage';
  if (path.startsWith('/v1/emails/receiving')) return 'inbound:read';
  if (family === 'emails') return method === 'get' ? 'emails:read' : 'emails:send';
  if (INBOUND_FAMILIES.includes(family)) {
    if (method === 'get' && !INBOUND_RULES.test(path)) return 'inbound:read';
    // All other writes need `inbound:manage`.
    return /\/(?:reply|forward)$/.test(path) ? 'inbound:send' : 'inbound:manage';
  }
  const scope = SCOPES_OF.get(family);
  if (scope === undefined) throw new Error(`${path} needs a scope in SCOPES_OF`);
  return scope;
}

/** The path with this id. Without one, it has the id of a resource that does not exist. */
export function pathOf({ path, query, contract: { noun } }: KnownRoute, id?: string): string {
  return `${filledPath(path, id ?? (noun === undefined ? '' : idOfNothing(noun)))}${query}`;
}

/** A request of the route with a valid body, but without a key. */
export function requestOf(url: string, route: KnownRoute, id?: string): request.Test {
  const test = requestTo(url, route, id);
  return route.body === undefined ? test : test.send(route.body);
}

/** The same without a body. */
export function requestTo(url: string, route: KnownRoute, id?: string): request.Test {
  return request(url)[route.method](pathOf(route, id));
}
