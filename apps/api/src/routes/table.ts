import type { DeadLetterStore, EmailStore, WebhookStore } from '@postrider/store';
import { batchBody, emailBody, resourceBody } from '../http/body-rules.ts';
import { listDeadLetters } from './dead-letters/list.ts';
import { replayDeadLetter } from './dead-letters/replay.ts';
import { batchCost, createBatch } from './emails/batch.ts';
import { createEmail } from './emails/create.ts';
import { getEmail } from './emails/get.ts';
import { listEmails } from './emails/list.ts';
import type { Route } from './route.ts';
import { createWebhook } from './webhooks/create.ts';
import { deleteWebhook } from './webhooks/delete.ts';
import { listWebhooks } from './webhooks/list.ts';

export interface RouteStores {
  readonly webhooks: WebhookStore;
  readonly deadLetters: DeadLetterStore;
  readonly emails: EmailStore;
}

/** What of the deployment the routes depend on. */
export interface RouteRules {
  /** Whether live mail may only come from domains that its account has verified. */
  readonly verifiedDomainsOnly: boolean;
}

/** Every route of `/v1`. */
export function routeTable(stores: RouteStores, rules: RouteRules): readonly Route[] {
  return [...webhookRoutes(stores), ...emailRoutes(stores, rules)];
}

function webhookRoutes({ webhooks, deadLetters }: RouteStores): Route[] {
  const manage = { scope: 'webhooks:manage', limited: true } as const;
  return [
    { ...manage, method: 'post', path: '/v1/webhooks', body: resourceBody, handle: createWebhook(webhooks) },
    { ...manage, method: 'get', path: '/v1/webhooks', body: 'ignored', handle: listWebhooks(webhooks) },
    {
      ...manage,
      method: 'delete',
      path: '/v1/webhooks/:id',
      body: 'ignored',
      handle: deleteWebhook(webhooks),
    },
    {
      ...manage,
      method: 'get',
      path: '/v1/webhooks/dead-letters',
      body: 'ignored',
      handle: listDeadLetters(deadLetters),
    },
    {
      ...manage,
      method: 'post',
      path: '/v1/webhooks/dead-letters/:id/replay',
      body: 'ignored',
      handle: replayDeadLetter(deadLetters),
    },
  ];
}

function emailRoutes({ emails }: RouteStores, { verifiedDomainsOnly }: RouteRules): Route[] {
  const mailroom = { emails, verifiedDomainsOnly };
  const send = { method: 'post', scope: 'emails:send', limited: true } as const;
  const read = { method: 'get', scope: 'emails:read', limited: true, body: 'ignored' } as const;
  return [
    { ...send, path: '/v1/emails', body: emailBody, handle: createEmail(mailroom) },
    { ...send, path: '/v1/emails/batch', body: batchBody, cost: batchCost, handle: createBatch(mailroom) },
    { ...read, path: '/v1/emails', handle: listEmails(emails) },
    { ...read, path: '/v1/emails/:id', handle: getEmail(emails) },
  ];
}
