import type { UnsubscribeTokens } from '@postrider/domain';
import type { Logger, Metrics } from '@postrider/runtime';
import type {
  AttemptStore,
  BlockedSenderStore,
  DeadLetterStore,
  DomainStore,
  EmailStore,
  RoutingRuleStore,
  InboxStore,
  MessageStore,
  ProviderNotificationStore,
  SesMailStore,
  SuppressionStore,
  ThreadStore,
  TopicStore,
  WebhookStore,
} from '@postrider/store';
import type { SendingDomains } from '../domains/sending-domains.ts';
import { batchBody, emailBody, snsBody } from '../http/body-rules.ts';
import type { SnsAccess } from '../sns-access.ts';
import { listAttempts } from './attempts.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { blockedSenderRoutes } from './blocked-senders.ts';
import { domainRoutes } from './domains.ts';
import { batchCost, createBatch } from './emails/batch.ts';
import { createEmail } from './emails/create.ts';
import { getEmail } from './emails/get.ts';
import { listEmails } from './emails/list.ts';
import { inboxRoutes } from './inboxes.ts';
import { messageRoutes } from './messages/routes.ts';
import type { MessageRouteParts } from './messages/routes.ts';
import { receiveSns } from './notifications/receive-sns.ts';
import type { Route } from './route.ts';
import { routingRuleRoutes } from './routing-rules.ts';
import { suppressionRoutes } from './suppressions/routes.ts';
import { threadRoutes } from './threads/routes.ts';
import { topicRoutes } from './topics.ts';
import { unsubscribeRoutes } from './unsubscribe.ts';
import type { UnsubscribeRouteParts } from './unsubscribe.ts';
import { webhookRoutes } from './webhooks.ts';

export interface RouteStores extends UnsubscribeRouteParts {
  readonly domains: DomainStore;
  readonly webhooks: WebhookStore;
  readonly attempts: AttemptStore;
  readonly deadLetters: DeadLetterStore;
  readonly emails: EmailStore;
  readonly suppressions: SuppressionStore;
  readonly topics: TopicStore;
  readonly inboxes: InboxStore;
  readonly threads: ThreadStore;
  readonly messages: MessageStore;
  readonly routingRules: RoutingRuleStore;
  readonly blockedSenders: BlockedSenderStore;
  readonly notifications: ProviderNotificationStore;
  readonly sesMail: SesMailStore;
}

/** What of the deployment the routes depend on. */
export interface RouteRules {
  /** Whether live mail may only come from domains that its account has verified. */
  readonly verifiedDomainsOnly: boolean;
  /** How many webhooks an account may have that has no limit of its own. */
  readonly webhooksPerAccountMax: number;
  /** Of SES, which writes its own Message-ID; undefined: mail goes another way. */
  readonly awsRegion: string | undefined;
}

/** What routes need beside the stores. */
export interface RouteParts extends MessageRouteParts {
  readonly rules: RouteRules;
  /** Null where the mail provider has no domains. */
  readonly sendingDomains: SendingDomains | null;
  readonly unsubscribeTokens: Pick<UnsubscribeTokens, 'open'>;
  readonly sns: SnsAccess;
  readonly logger: Logger;
  readonly metrics: Metrics<'api'>;
}

/** Every route but the operator's. */
export function routeTable(stores: RouteStores, parts: RouteParts): readonly Route[] {
  return [
    // Ahead of the routes with the id of a webhook: Express takes the first path that fits.
    ...deadLetterRoutes(stores.deadLetters),
    ...webhookRoutes(stores.webhooks, parts.rules.webhooksPerAccountMax),
    listAttempts(stores.attempts),
    ...emailRoutes(stores, parts.rules),
    ...domainRoutes(stores.domains, parts.sendingDomains),
    ...suppressionRoutes(stores.suppressions),
    ...topicRoutes(stores.topics),
    ...inboxRoutes(stores.inboxes),
    ...threadRoutes({ ...stores, ...parts.rules }),
    ...messageRoutes(stores.messages, parts),
    ...routingRuleRoutes(stores.routingRules),
    ...blockedSenderRoutes(stores.blockedSenders),
    ...unsubscribeRoutes(stores, parts.unsubscribeTokens),
    notificationRoute(stores, parts),
  ];
}

function notificationRoute(
  { notifications, sesMail }: RouteStores,
  { sns, logger, metrics }: RouteParts,
): Route {
  const handle = receiveSns({ sns, notifications, sesMail, logger, metrics });
  return { method: 'post', path: '/internal/ses/sns', scope: null, body: snsBody, handle };
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
