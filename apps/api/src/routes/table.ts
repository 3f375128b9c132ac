import type { DeadLetterStore, EmailStore, WebhookStore } from '@postrider/store';
import { emailBody, resourceBody } from '../http/body-rules.ts';
import { listDeadLetters } from './dead-letters/list.ts';
import { replayDeadLetter } from './dead-letters/replay.ts';
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

/** Every route of `/v1`. */
export function routeTable({ webhooks, deadLetters, emails }: RouteStores): readonly Route[] {
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
    {
      method: 'post',
      path: '/v1/emails',
      scope: 'emails:send',
      limited: true,
      body: emailBody,
      handle: createEmail(emails),
    },
    {
      method: 'get',
      path: '/v1/emails',
      scope: 'emails:read',
      limited: true,
      body: 'ignored',
      handle: listEmails(emails),
    },
    {
      method: 'get',
      path: '/v1/emails/:id',
      scope: 'emails:read',
      limited: true,
      body: 'ignored',
      handle: getEmail(emails),
    },
  ];
}
