import { newId } from '@postrider/domain';
import type { Scope } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';

/** Every route of the API as contract section 4 has it, written down a second time: the table of the code is under test. */
export interface KnownRoute {
  readonly method: 'get' | 'post' | 'delete';
  readonly path: string;
  readonly scope: Scope;
  /** Whether the key's rate limit does not apply (contract 8, rule 3). */
  readonly unlimited?: true;
  /** A valid body, where the route reads one. */
  readonly body?: object;
}

export const EVERY_ROUTE: readonly KnownRoute[] = [
  { method: 'post', path: '/v1/webhooks', scope: 'webhooks:manage', body: { endpoint: 'https://a.example' } },
  { method: 'get', path: '/v1/webhooks', scope: 'webhooks:manage' },
  { method: 'delete', path: `/v1/webhooks/${newId('webhook', systemClock)}`, scope: 'webhooks:manage' },
  { method: 'get', path: '/v1/webhooks/dead-letters', scope: 'webhooks:manage' },
  {
    method: 'post',
    path: `/v1/webhooks/dead-letters/${newId('deadLetter', systemClock)}/replay`,
    scope: 'webhooks:manage',
  },
  {
    method: 'post',
    path: '/v1/emails',
    scope: 'emails:send',
    body: { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' },
  },
  {
    method: 'post',
    path: '/v1/emails/batch',
    scope: 'emails:send',
    body: [{ from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' }],
  },
  { method: 'get', path: '/v1/emails', scope: 'emails:read' },
  { method: 'get', path: `/v1/emails/${newId('email', systemClock)}`, scope: 'emails:read' },
  ...domainRoutes(`/v1/domains/${newId('domain', systemClock)}`),
  ...suppressionRoutes(`/v1/suppressions/${newId('suppression', systemClock)}`),
  ...topicRoutes(`/v1/topics/${newId('topic', systemClock)}`),
];

function domainRoutes(one: string): KnownRoute[] {
  const scope = 'domains:manage';
  return [
    { method: 'post', path: '/v1/domains', scope, body: { name: 'a.example' } },
    { method: 'get', path: '/v1/domains', scope },
    { method: 'get', path: one, scope },
    { method: 'post', path: `${one}/verify`, scope },
    { method: 'delete', path: one, scope },
  ];
}

function suppressionRoutes(one: string): KnownRoute[] {
  const manage = { scope: 'suppressions:manage', unlimited: true } as const;
  const batch = { emails: ['a@a.example'] };
  return [
    { ...manage, method: 'post', path: '/v1/suppressions', body: { email: 'a@a.example' } },
    { ...manage, method: 'post', path: '/v1/suppressions/batch/add', body: batch },
    { ...manage, method: 'post', path: '/v1/suppressions/batch/remove', body: batch },
    { ...manage, method: 'get', path: '/v1/suppressions' },
    { ...manage, method: 'get', path: one },
    { ...manage, method: 'delete', path: one },
  ];
}

function topicRoutes(one: string): KnownRoute[] {
  const manage = { scope: 'suppressions:manage', unlimited: true } as const;
  const body = { name: 'News', default_subscription: 'opt_in' };
  return [
    { ...manage, method: 'post', path: '/v1/topics', body },
    { ...manage, method: 'get', path: '/v1/topics' },
    { ...manage, method: 'get', path: one },
    { ...manage, method: 'delete', path: one },
  ];
}

/** Their titles and themselves, for `test.each`. */
export const EVERY_ROUTE_TITLED = EVERY_ROUTE.map(
  (route) =>
    [`${route.method.toUpperCase()} ${route.path.replace(/\w+_[0-9a-z]{26}/, '{id}')}`, route] as const,
);

/** A request of the route that lacks nothing but a key. */
export function requestOf(url: string, { method, path, body }: KnownRoute): request.Test {
  const test = request(url)[method](path);
  return body === undefined ? test : test.send(body);
}
