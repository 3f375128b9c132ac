import type { Clock, UnsubscribeTokens } from '@postrider/domain';
import type { Logger, Metrics } from '@postrider/runtime';
import type { SendingDomains } from '../domains/sending-domains.ts';
import type { SnsAccess } from '../sns-access.ts';
import type { RouteStores } from '../stores.ts';
import { listAttempts } from './attempts.ts';
import { blockedSenderRoutes } from './blocked-senders.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { domainRoutes } from './domains.ts';
import { emailAttachmentRoutes } from './email-attachments.ts';
import { getEmailMetrics } from './email-metrics.ts';
import { emailRoutes } from './emails.ts';
import { eventRoutes } from './events.ts';
import { forward } from './forwards.ts';
import { inboxRoutes } from './inboxes.ts';
import { openLink } from './links.ts';
import type { BlobReader, LinkMaker } from './links.ts';
import { getMessageBody } from './message-body.ts';
import { messageRoutes } from './messages.ts';
import { receivingRoutes } from './receiving.ts';
import { recoveryRoutes } from './recoveries.ts';
import { reply } from './replies.ts';
import type { Documented, RouteRules } from './route.ts';
import { routingRuleRoutes } from './routing-rules.ts';
import { receiveSns } from './sns-notifications.ts';
import { suppressionRemovalRoutes } from './suppression-removals.ts';
import { suppressionRoutes } from './suppressions.ts';
import { threadEmailRoutes } from './thread-emails.ts';
import { searchThreads } from './thread-search.ts';
import { threadRoutes } from './threads.ts';
import { topicRoutes } from './topics.ts';
import { unsubscribeRoutes } from './unsubscribe.ts';
import { webhookEventRoutes } from './webhook-events.ts';
import { webhookRoutes } from './webhooks.ts';

/** The services and settings that the routes need besides the stores. */
export interface RouteParts {
  readonly rules: RouteRules;
  /** Null when the mail provider has no domains. */
  readonly sendingDomains: SendingDomains | null;
  readonly unsubscribeTokens: Pick<UnsubscribeTokens, 'open'>;
  readonly links: LinkMaker;
  readonly blobs: BlobReader;
  readonly sns: SnsAccess;
  readonly logger: Logger;
  readonly metrics: Metrics<'api'>;
  readonly clock: Clock;
}

/** The routes that docs/openapi.json describes. Express takes the first path that fits. */
export function routeTable(stores: RouteStores, parts: RouteParts): readonly Documented[] {
  const { rules, links, sns, logger, metrics, clock } = parts;
  const { notifications, sesMail } = stores;
  return [
    // `/v1/webhooks/dead-letters` must come before `/v1/webhooks/:id`.
    ...deadLetterRoutes(stores.deadLetters),
    ...webhookRoutes(stores.webhooks, rules),
    listAttempts(stores.attempts),
    // `/v1/emails/metrics` and `/v1/emails/receiving` must come before `/v1/emails/:id`.
    getEmailMetrics(stores.eventCounts, clock),
    ...receivingRoutes(stores.messages, parts),
    ...eventRoutes(stores.events),
    ...webhookEventRoutes(stores.webhookEvents, stores.attempts),
    ...recoveryRoutes(stores.recoveries),
    ...emailRoutes(stores.emails, rules),
    ...emailAttachmentRoutes(stores.emails, links),
    ...domainRoutes(stores.domains, parts.sendingDomains),
    ...suppressionRoutes(stores.suppressions),
    ...suppressionRemovalRoutes(stores.suppressions),
    ...topicRoutes(stores.topics),
    ...inboxRoutes(stores.inboxes),
    // `…/threads/search` must come before `…/threads/:thread`.
    searchThreads(stores),
    ...threadRoutes(stores),
    ...threadEmailRoutes(stores, rules.awsRegion),
    reply(stores, rules),
    forward(stores, rules, parts.blobs),
    ...messageRoutes(stores.messages, links),
    getMessageBody(stores.messages),
    openLink(stores, links, parts.blobs),
    ...routingRuleRoutes(stores.routingRules),
    ...blockedSenderRoutes(stores.blockedSenders),
    ...unsubscribeRoutes(stores.topics, stores.unsubscribes, parts.unsubscribeTokens),
    receiveSns({ sns, notifications, sesMail, logger, metrics }),
  ];
}
