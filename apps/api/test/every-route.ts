import type { Scope } from '@postrider/domain';
import request from 'supertest';
import { describedRoutes, routeName } from '../src/docs/openapi.ts';
import type { Route } from '../src/routes/route.ts';
import type { RouteContract } from './fuzz/route-contract.ts';
import { ROUTE_CONTRACTS } from './fuzz/route-contracts.ts';
import { filledPath, idOfNothing } from './route-paths.ts';

/**
 * A route of the table, with what the contract says of it: that is written down a second time, for the table is under
 * test. A new route is in every test that takes them from here, once it has a contract.
 */
export interface KnownRoute {
  readonly name: string;
  readonly method: Route['method'];
  /** With `:id` in the place of an id. */
  readonly path: string;
  /** The required parameters. */
  readonly query: string;
  /** Null: nobody is asked for a key. */
  readonly scope: Scope | null;
  /** Whether the key's rate limit applies. */
  readonly limited: boolean;
  readonly contract: RouteContract;
  /** A valid body that has something to store, where the route reads one. */
  readonly body?: object;
}

export type KeyedRoute = KnownRoute & { readonly scope: Scope };

/** Contract 5, and the list of scopes in docs/api.md; those of emails differ by what is done. */
const SCOPES_OF: ReadonlyMap<string, Scope> = new Map([
  ['webhooks', 'webhooks:manage'],
  ['events', 'webhooks:manage'],
  ['domains', 'domains:manage'],
  ['suppressions', 'suppressions:manage'],
  ['topics', 'suppressions:manage'],
]);

const INBOUND_FAMILIES = ['inboxes', 'inbound'];
/** Of which reading, too, needs the scope to manage. */
const INBOUND_RULES = /^\/v1\/inbound\/(routes|blocked-senders)(\/|$)/;

export const EVERY_ROUTE: readonly KnownRoute[] = describedRoutes().map(({ method, path }) => {
  const name = routeName({ method, path });
  const contract = ROUTE_CONTRACTS[name];
  if (contract === undefined) throw new Error(`${name} has no contract`);
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

/** With their names before them, for `describe.each`. */
export function titled<R extends KnownRoute>(routes: readonly R[]): [string, R][] {
  return routes.map((route) => [route.name, route]);
}

/** @throws Error of a family of routes that is not known here. */
function scopeOf(method: Route['method'], path: string): Scope | null {
  const [, version, family = ''] = path.split('/');
  if (version !== 'v1') return null;
  if (path === '/v1/emails/:id/events') return 'webhooks:manage';
  if (path.startsWith('/v1/emails/receiving')) return 'inbound:read';
  if (family === 'emails') return method === 'get' ? 'emails:read' : 'emails:send';
  if (INBOUND_FAMILIES.includes(family)) {
    if (method === 'get' && !INBOUND_RULES.test(path)) return 'inbound:read';
    // A reply or a forward; every other write manages.
    return /\/(?:reply|forward)$/.test(path) ? 'inbound:send' : 'inbound:manage';
  }
  const scope = SCOPES_OF.get(family);
  if (scope === undefined) throw new Error(`nobody knows the scope of ${path}`);
  return scope;
}

/** The path with an id in it: of something that is nowhere, unless it is given. */
export function pathOf({ path, query, contract: { noun } }: KnownRoute, id?: string): string {
  return `${filledPath(path, id ?? (noun === undefined ? '' : idOfNothing(noun)))}${query}`;
}

/** A request of the route that lacks nothing but a key. */
export function requestOf(url: string, route: KnownRoute, id?: string): request.Test {
  const test = requestTo(url, route, id);
  return route.body === undefined ? test : test.send(route.body);
}

/** The same without a body. */
export function requestTo(url: string, route: KnownRoute, id?: string): request.Test {
  return request(url)[route.method](pathOf(route, id));
}
