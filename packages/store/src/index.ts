export { createAccountStore, readAccountNames } from './accounts/accounts.ts';
export type { Account, AccountDetails } from './accounts/accounts.ts';
export { createApiKeyStore } from './accounts/api-keys.ts';
export type { ActiveKey, ApiKey, ApiKeyStore } from './accounts/api-keys.ts';
export { suspendAccount } from './accounts/suspension.ts';
export { AUDIT_ACTIONS, listAudit } from './audit/audit.ts';
export type { Actor, AuditAction, ListedAuditEntry } from './audit/audit.ts';
export { readAttemptDays, readBusiestWebhooks, readLastMinuteOf } from './attempt-sums/read-sums.ts';
export type { AttemptDay, AttemptHour, AttemptSum, BusyWebhook } from './attempt-sums/read-sums.ts';
export { createAttemptSums } from './attempt-sums/sum-attempts.ts';
export type { AttemptSums } from './attempt-sums/sum-attempts.ts';
export { createAttemptLog, lacksDays } from './deliveries/attempt-log.ts';
export type { AttemptLog } from './deliveries/attempt-log.ts';
export { createAttemptStore } from './deliveries/attempts.ts';
export type { AttemptCursor, AttemptStore, LoggedAttempt } from './deliveries/attempts.ts';
export {
  countDeadLetters,
  outstandingOf,
  readBacklog,
  readLateWebhooks,
  readOutstanding,
} from './deliveries/backlog.ts';
export { createSnapshotWatch } from './db/oldest-snapshot.ts';
export type { Backlog, DeadLetterCounts, LateWebhook, Outstanding } from './deliveries/backlog.ts';
export { createConsoleForms } from './console/console-forms.ts';
export type { ConsoleFormStore, FormResult } from './console/console-forms.ts';
export { createConsoleSessions } from './console/console-sessions.ts';
export type { ConsoleSessionStore } from './console/console-sessions.ts';
export { openDatabase, openReadDatabase } from './db/database.ts';
export type { Database, ReadDatabase } from './db/database.ts';
export { createDeadLetterStore } from './deliveries/dead-letters.ts';
export type {
  DeadLetter,
  DeadLetterCut,
  DeadLetterFilter,
  DeadLetterStore,
} from './deliveries/dead-letters.ts';
export {
  countDeadLettersBefore,
  countDeadLettersByHour,
  countFoundDeadLetters,
  DEAD_LETTERS_COUNTED_MAX,
  DEAD_LETTERS_PER_HOUR_MAX,
  findDeadLetters,
  locateDeadLetters,
} from './deliveries/find-dead-letters.ts';
export type {
  DeadLetterCount,
  DeadLetterHour,
  FoundDeadLetter,
  FoundDeadLetterFilter,
  LocatedDeadLetter,
} from './deliveries/find-dead-letters.ts';
export { createDeliveryOutbox } from './deliveries/delivery-outbox.ts';
export type {
  ClaimRequest,
  DeliveryOutbox,
  DeliveryPosition,
  LeasedDelivery,
  Sweep,
  SweptWebhook,
  WebhookReport,
} from './deliveries/delivery-outbox.ts';
export { createDeliveryWork } from './deliveries/delivery-work.ts';
export type {
  ChangedWebhook,
  DeadAttempt,
  DeliveryClaim,
  DeliveryWork,
  FinishedAttempt,
  RetriedAttempt,
  TakenDelivery,
} from './deliveries/delivery-work.ts';
export type { DomainLimitReached, DomainLimits } from './domains/domain-limits.ts';
export { createDomainStore } from './domains/domains.ts';
export type { Domain, DomainClaim, DomainState, DomainStore } from './domains/domains.ts';
export { createDomainTurns } from './domains/domain-turns.ts';
export type { DomainTurn, DomainTurns, TurnLength } from './domains/domain-turns.ts';
export { createEmailStore } from './mail/emails.ts';
export type { EmailStore, ListedAttachment, ListedEmail } from './mail/emails.ts';
export { findEmails, searchEmails } from './mail/find-emails.ts';
export type { EmailSearch, FoundEmail } from './mail/find-emails.ts';
export { createEventCountStore } from './events/event-counts.ts';
export type { EventCount, EventCountStore } from './events/event-counts.ts';
export { createEventStore, POSITION_MAX } from './events/events.ts';
export type { EventCursor, EventFilter, EventStore, ListedEvent } from './events/events.ts';
export type { EventFate, Fate } from './events/event-fates.ts';
export { readNewestEvents, searchEvents } from './events/find-events.ts';
export type {
  EventSearch,
  EventWithFates,
  FoundEventFilter,
  FoundEvents,
  NewestEvent,
} from './events/find-events.ts';
export { lookUp } from './events/look-up.ts';
export type { FindingCount, Findings, LookedUpText, OwnedSuppression } from './events/look-up.ts';
export { findEvent, readEventStory } from './events/event-story.ts';
export type { StoryReplay } from './events/event-replays.ts';
export type { EventStory, StoryAttempt, StoryWebhook } from './events/event-story.ts';
export {
  createWebhookEventStore,
  DELIVERY_FATES,
  EVENTS_LOOKED_AT_MAX,
  WEBHOOK_EVENT_STATUSES,
} from './events/webhook-events.ts';
export type { WebhookEvent, WebhookEventPage, WebhookEventStore } from './events/webhook-events.ts';
export { summarizeEvents } from './events/event-summaries.ts';
export type { EventSummary } from './events/event-summaries.ts';
export { createRecoveryStore, RECOVERY_STATUSES } from './recoveries/recoveries.ts';
export type { NewRecovery, Recovery, RecoveryStart, RecoveryStore } from './recoveries/recoveries.ts';
export { createRecoveryLookUps } from './recoveries/find-recoveries.ts';
export type { FoundRecovery } from './recoveries/find-recoveries.ts';
export { readFreshEvents } from './recoveries/fresh-events.ts';
export type { FirstAttempts, FreshEvents } from './recoveries/fresh-events.ts';
export { RECOVERED, RECOVERED_EVENTS } from './recoveries/recovery-count.ts';
export type { Recovered, RecoveryCount, RecoveryRequest } from './recoveries/recovery-count.ts';
export { createRecoveryWork, FAILING_STEP_SECONDS } from './recoveries/recovery-work.ts';
export type { RecoveryWork } from './recoveries/recovery-work.ts';
export { createErasureStore } from './retention/erasures.ts';
export type { ErasureResult, ErasureStep, ErasureStore } from './retention/erasures.ts';
export { isOutage, isUnavailable, StoreUnavailableError, unavailableInWords } from './db/errors.ts';
export { readEventMoment } from './events/event-moment.ts';
export { createFleet, lockWorkerNumber, WORKER_COUNTS_SECONDS } from './deliveries/fleet.ts';
export type { DeadWorker, Fleet, KnownWorker, QueueIdentity, RunningWorker } from './deliveries/fleet.ts';
export { dropExpired, dropOldAudit, dropOldSums, dropStrayAttempts } from './retention/housekeeping.ts';
export { createBlockedSenderStore } from './inbound/blocked-senders.ts';
export type { BlockedSender, BlockedSenderStore } from './inbound/blocked-senders.ts';
export {
  countHeldMessages,
  countHeldOf,
  findHeldMessages,
  HELD_COUNTED_MAX,
  HELD_OF_ACCOUNT_COUNTED_MAX,
  listReleasedMessages,
} from './inbound/held-messages.ts';
export type { FoundHeldMessages, HeldCounts, HeldMessage, ReleasedMessage } from './inbound/held-messages.ts';
export { findMessage, findMessages } from './inbound/find-messages.ts';
export type { FoundMessage, MessageSearch } from './inbound/find-messages.ts';
export { createRoutingRuleStore } from './inbound/routing-rules.ts';
export type { RoutingRule, RoutingRuleStore } from './inbound/routing-rules.ts';
export { createInboxStore, postmasterInbox, setPostmaster } from './inbound/inboxes.ts';
export type { Inbox, InboxIdentity, InboxStore } from './inbound/inboxes.ts';
export { createReceivedMessageStore } from './inbound/received-message-store.ts';
export type {
  IncomingAttachment,
  IncomingMessage,
  ReceivedMessageStore,
  Reception,
  StoredMessage,
} from './inbound/received-message-store.ts';
export { createSesMailStore, createSesMailWork } from './inbound/ses-mail.ts';
export type { ClaimedSesMail, SesMailClaim, SesMailStore, SesMailWork } from './inbound/ses-mail.ts';
export { dropOldThreads, dropReceivedMail } from './retention/old-messages.ts';
export { removeInboxes } from './retention/remove-inboxes.ts';
export { finishRemovals } from './webhooks/remove-webhook.ts';
export { createSweptBlobs, SWEEP_LEASE_MS, SweptBlobsError } from './inbound/swept-blobs.ts';
export type { SweptBlobs } from './inbound/swept-blobs.ts';
export { createThreadStore, isThreadEmailId } from './inbound/threads.ts';
export type {
  FoundThread,
  Thread,
  ThreadEmail,
  ThreadSearch,
  ThreadStore,
  ThreadSummary,
} from './inbound/threads.ts';
export { createMessageStore } from './inbound/messages.ts';
export type { MessageAttachment, MessageDetails, MessageStore } from './inbound/messages.ts';
export {
  agreeOnMailProvider,
  MAIL_PROVIDER_DEFAULT,
  storedMailProvider,
  MAIL_PROVIDERS,
  setMailProvider,
} from './accounts/installation.ts';
export type { MailProviderName } from './accounts/installation.ts';
export { readUnsentMail } from './mail/unsent-mail.ts';
export type { UnsentMail } from './mail/unsent-mail.ts';
export { createMailOutbox } from './mail/mail-outbox.ts';
export type { ClaimedEmail, MailOutbox } from './mail/mail-outbox.ts';
export { createMailWork } from './mail/mail-work.ts';
export type { MailWork } from './mail/mail-work.ts';
export type { EndedEmail, RecordedAttempt, RetriedEmail } from './mail/end-mail.ts';
export type { MailClaim, TakenEmail } from './mail/take-mail.ts';
export { migrate, pendingMigrations } from './schema/migrate.ts';
export { dropOldDeadLetters, dropSurplusDeadLetters } from './retention/old-dead-letters.ts';
export { dropOldEvents } from './retention/old-events.ts';
export { dropMailContents, dropOldMail } from './retention/old-mail.ts';
export { pageOf } from './db/page.ts';
export type { ListPosition, Page, PageAt, PageRequest } from './db/page.ts';
export { readPostgresTime } from './db/postgres-time.ts';
export { createRelaySession, relayIsActive } from './db/relay-session.ts';
export { createPool } from './db/pool.ts';
export type { PoolOptions } from './db/pool.ts';
export { openSession } from './db/session.ts';
export { createProviderNotificationStore } from './mail/provider-notifications.ts';
export type { ProviderNotificationStore } from './mail/provider-notifications.ts';
export { underMigrationLock } from './schema/migration-lock.ts';
export type { MigratorOptions } from './schema/migration-lock.ts';
export { actAs } from './schema/owner.ts';
export { lacksRights, rightsOf } from './schema/rights.ts';
export type { Rights } from './schema/rights.ts';
export { makeRoles } from './schema/roles.ts';
export type { Roles } from './schema/roles.ts';
export { lacksMigrations, MIGRATE_FIRST, readiness, requireDatabase } from './schema/readiness.ts';
export { makeNoticesAccount } from './mail/send-emails.ts';
export { createSuppressionStore } from './mail/suppressions.ts';
export type {
  AddedSuppression,
  Additions,
  Suppression,
  SuppressionKey,
  SuppressionOrigin,
  SuppressionStore,
} from './mail/suppressions.ts';
export { createTopicStore } from './mail/topics.ts';
export type { Topic, TopicStore } from './mail/topics.ts';
export type { Transaction } from './db/transaction.ts';
export type { SendOutcome } from './mail/send-request.ts';
export { createUnsubscribeStore } from './mail/unsubscribes.ts';
export type { UnsubscribeStore } from './mail/unsubscribes.ts';
export { createWakeUps } from './db/wake-ups.ts';
export type { ParsedWakeUp, WakeUps } from './db/wake-ups.ts';
export { createHealthNoticeStore } from './webhooks/health-notices.ts';
export type { HealthNoticeStore, NoticeDue, SentNotice } from './webhooks/health-notices.ts';
export { createOperatorEventStore } from './webhooks/operator-events.ts';
export type { ClaimedOperatorEvent, OperatorEventStore } from './webhooks/operator-events.ts';
export { createWebhookLookUps } from './webhooks/webhook-look-ups.ts';
export type { OwnedWebhook } from './webhooks/webhook-look-ups.ts';
export { IN_FLIGHT_COUNTED_MAX, readInFlight } from './webhooks/in-flight.ts';
export { readOtherKeys, resealSecrets } from './webhooks/reseal-secrets.ts';
export type { OtherKey } from './webhooks/reseal-secrets.ts';
export { readFailingWebhooks } from './webhooks/failing-webhooks.ts';
export type { FailingWebhook } from './webhooks/failing-webhooks.ts';
export { countedMaxPerWebhook, LOAD_COUNTED_MAX, readWebhookHealth } from './webhooks/webhook-health.ts';
export type { WebhookHealth } from './webhooks/webhook-health.ts';
export { createWebhookStore } from './webhooks/webhooks.ts';
export type { Webhook, WebhookStore } from './webhooks/webhooks.ts';
