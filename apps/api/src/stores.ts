import type { Clock } from '@postrider/domain';
import { createSecretBox, LIMITS } from '@postrider/domain';
import {
  createAttemptStore,
  createBlockedSenderStore,
  createDeadLetterStore,
  createDomainStore,
  createEmailStore,
  createEventCountStore,
  createEventStore,
  createInboxStore,
  createMessageStore,
  createProviderNotificationStore,
  createRecoveryStore,
  createRoutingRuleStore,
  createSesMailStore,
  createSuppressionStore,
  createThreadStore,
  createTopicStore,
  createUnsubscribeStore,
  createWebhookEventStore,
  createWebhookStore,
} from '@postrider/store';
import type { Database } from '@postrider/store';

interface StoreSettings {
  readonly secretKeys: readonly Buffer[];
  /** Every account may have inboxes, and routing rules for an address, on these domains. */
  readonly sharedDomains: readonly string[];
  /** The local parts that no account may have on a shared domain. */
  readonly reservedNames: readonly string[];
  readonly inboxesPerAccountMax: number;
  /** Applies to an account that has no limit of its own. */
  readonly webhooksPerAccountMax: number;
}

/** The stores that the routes use. */
export type RouteStores = ReturnType<typeof openRouteStores>;

export function openRouteStores(database: Database, clock: Clock, settings: StoreSettings) {
  const { sharedDomains, reservedNames, inboxesPerAccountMax, webhooksPerAccountMax } = settings;
  const secrets = createSecretBox(settings.secretKeys);
  return {
    webhooks: createWebhookStore(database, secrets, clock),
    attempts: createAttemptStore(database),
    events: createEventStore(database),
    eventCounts: createEventCountStore(database),
    webhookEvents: createWebhookEventStore(database),
    recoveries: createRecoveryStore(database, clock),
    deadLetters: createDeadLetterStore(database),
    emails: createEmailStore(database, clock),
    domains: createDomainStore(database, clock),
    suppressions: createSuppressionStore(database, clock),
    topics: createTopicStore(database, clock),
    threads: createThreadStore(database, clock),
    messages: createMessageStore(database, clock),
    inboxes: createInboxStore(database, clock, {
      sharedDomains,
      reservedNames,
      perAccountMax: inboxesPerAccountMax,
    }),
    routingRules: createRoutingRuleStore(database, secrets, clock, {
      sharedDomains,
      reservedNames,
      webhooksPerAccountMax,
    }),
    blockedSenders: createBlockedSenderStore(database, clock, LIMITS.blockedSenders),
    unsubscribes: createUnsubscribeStore(database, clock),
    notifications: createProviderNotificationStore(database, clock),
    sesMail: createSesMailStore(database),
  };
}
