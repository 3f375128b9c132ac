import type { UnsubscribeTokens } from '@postrider/domain';
import type { DomainProvider } from '@postrider/mail';
import type { Logger, Metrics } from '@postrider/runtime';
import type {
  DeadLetterStore,
  EmailStore,
  ProviderNotificationStore,
  SuppressionStore,
  TopicStore,
  WebhookStore,
} from '@postrider/store';
import { batchBody, emailBody, resourceBody, snsBody } from '../http/body-rules.ts';
import type { SnsAccess } from '../sns-access.ts';
import { listDeadLetters } from './dead-letters/list.ts';
import { replayDeadLetter } from './dead-letters/replay.ts';
import { domainRoutes } from './domains/routes.ts';
import type { DomainRouteParts } from './domains/routes.ts';
import { batchCost, createBatch } from './emails/batch.ts';
import { createEmail } from './emails/create.ts';
import { getEmail } from './emails/get.ts';
import { listEmails } from './emails/list.ts';
import { receiveSns } from './notifications/receive-sns.ts';
import type { Route } from './route.ts';
import { suppressionRoutes } from './suppressions/routes.ts';
import { topicRoutes } from './topics/routes.ts';
import { unsubscribeRoutes } from './unsubscribe/routes.ts';
import type { UnsubscribeRouteParts } from './unsubscribe/routes.ts';
import { createWebhook } from './webhooks/create.ts';
import { deleteWebhook } from './webhooks/delete.ts';
import { listWebhooks } from './webhooks/list.ts';

export interface RouteStores extends DomainRouteParts, UnsubscribeRouteParts {
  readonly webhooks: WebhookStore;
  readonly deadLetters: DeadLetterStore;
  readonly emails: EmailStore;
  readonly suppressions: SuppressionStore;
  readonly topics: TopicStore;
  readonly notifications: ProviderNotificationStore;
}

/** What of the deployment the routes depend on. */
export interface RouteRules {
  /** Whether live mail may only come from domains that its account has verified. */
  readonly verifiedDomainsOnly: boolean;
}

/** What routes need beside the stores. */
export interface RouteParts {
  readonly rules: RouteRules;
  /** Null where the mail provider has no domains. */
  readonly domainProvider: Omit<DomainProvider, 'close'> | null;
  readonly unsubscribeTokens: Pick<UnsubscribeTokens, 'open'>;
  readonly sns: SnsAccess;
  readonly logger: Logger;
  readonly metrics: Metrics<'api'>;
}

/** Every route but the operator's. */
export function routeTable(stores: RouteStores, parts: RouteParts): readonly Route[] {
  return [
    ...webhookRoutes(stores),
    ...emailRoutes(stores, parts.rules),
    ...domainRoutes(stores, parts.domainProvider),
    ...suppressionRoutes(stores.suppressions),
    ...topicRoutes(stores.topics),
    ...unsubscribeRoutes(stores, parts.unsubscribeTokens),
    notificationRoute(stores, parts),
  ];
}

function notificationRoute({ notifications }: RouteStores, { sns, logger, metrics }: RouteParts): Route {
  const handle = receiveSns({ sns, notifications, logger, metrics });
  return { method: 'post', path: '/internal/ses/sns', scope: null, body: snsBody, handle };
}

function webhookRoutes({ webhooks, deadLetters }: RouteStores): readonly Route[] {
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

function emailRoutes({ emails }: RouteStores, { verifiedDomainsOnly }: RouteRules): readonly Route[] {
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
