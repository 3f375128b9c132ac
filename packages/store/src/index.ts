export { createAccountStore } from './accounts.ts';
export type { Account, AccountLimits, AccountStore } from './accounts.ts';
export { createApiKeyStore } from './api-keys.ts';
export type { ApiKey, ApiKeyStore, NewApiKey } from './api-keys.ts';
export { createAttemptLog } from './attempt-log.ts';
export type { AttemptLog } from './attempt-log.ts';
export { createAttemptStore } from './attempts.ts';
export type { AttemptCursor, AttemptStore, LoggedAttempt } from './attempts.ts';
export { readBacklog, readOutstanding } from './backlog.ts';
export { createSnapshotWatch } from './oldest-snapshot.ts';
export type { Backlog, Outstanding } from './backlog.ts';
export { openDatabase } from './database.ts';
export type { Database } from './database.ts';
export { createDeadLetterStore } from './dead-letters.ts';
export type { DeadLetter, DeadLetterCut, DeadLetterFilter, DeadLetterStore } from './dead-letters.ts';
export { createDeliveryOutbox } from './delivery-outbox.ts';
export type {
  Admission,
  ClaimedDelivery,
  ClaimLimits,
  DeliveryOutbox,
  Front,
  ScannedWebhook,
  ScanRequest,
  Sweep,
  SweptWebhook,
} from './delivery-outbox.ts';
export { createDeliveryWork } from './delivery-work.ts';
export type {
  DeadAttempt,
  DeliveryHandOver,
  HeldDelivery,
  DeliveryWork,
  FinishedAttempt,
  RetriedAttempt,
  TakenDelivery,
} from './delivery-work.ts';
export type { DomainLimitReached, DomainLimits } from './domain-limits.ts';
export { createDomainStore } from './domains.ts';
export type { Domain, DomainAddition, DomainClaim, DomainState, DomainStore, NewDomain } from './domains.ts';
export { createDomainTurns } from './domain-turns.ts';
export type { DomainTurn, DomainTurns, TurnLength, TurnResult } from './domain-turns.ts';
export { createEmailStore } from './emails.ts';
export type { Email, EmailStatus, EmailStore, ListedEmail, MailReader } from './emails.ts';
export { createErasureStore } from './erasures.ts';
export type { ErasureResult, ErasureStore } from './erasures.ts';
export { isUnavailable, mappingUnavailable, StoreUnavailableError } from './errors.ts';
export { readEventMoment } from './event-moment.ts';
export type { EventMoment } from './event-moment.ts';
export { createFleet } from './fleet.ts';
export type { Fleet } from './fleet.ts';
export { createHousekeeping } from './housekeeping.ts';
export type { Housekeeping } from './housekeeping.ts';
export { createBlockedSenderStore } from './inbound/blocked-senders.ts';
export type { BlockedSender, BlockedSenderStore } from './inbound/blocked-senders.ts';
export { findMessages } from './inbound/find-messages.ts';
export type { FoundMessage, MessageSearch } from './inbound/find-messages.ts';
export { createInboundRouteStore } from './inbound/inbound-routes.ts';
export type { InboundRoute, InboundRouteStore } from './inbound/inbound-routes.ts';
export { createInboxStore } from './inbound/inboxes.ts';
export type {
  Inbox,
  InboxCreation,
  InboxIdentity,
  InboxRules,
  InboxStore,
  NewInbox,
} from './inbound/inboxes.ts';
export { createMessageIntake } from './inbound/message-intake.ts';
export type {
  IncomingAttachment,
  IncomingMessage,
  MessageIntake,
  Reception,
  StoredMessage,
} from './inbound/message-intake.ts';
export { createSesMailStore, createSesMailWork } from './inbound/ses-mail.ts';
export type { ClaimedSesMail, SesMailClaim, SesMailStore, SesMailWork } from './inbound/ses-mail.ts';
export { dropOldThreads, dropReceivedMail } from './inbound/old-messages.ts';
export { createSweptBlobs, SWEEP_LEASE_MS, SweptBlobsError } from './inbound/swept-blobs.ts';
export type { SweptBlob, SweptBlobs } from './inbound/swept-blobs.ts';
export { createThreadStore, isThreadEmailId } from './inbound/threads.ts';
export type { Thread, ThreadEmail, ThreadStore } from './inbound/threads.ts';
export { createMessageStore } from './inbound/messages.ts';
export type {
  LinkedBytes,
  MessageFilter,
  MessageAttachment,
  MessageStore,
  WholeMessage,
} from './inbound/messages.ts';
export { agreeOnMailProvider, keptMailProvider, MAIL_PROVIDERS, setMailProvider } from './installation.ts';
export type { MailProviderName } from './installation.ts';
export { createMailOutbox } from './mail-outbox.ts';
export type { ClaimedEmail, MailOutbox } from './mail-outbox.ts';
export { createMailWork } from './mail-work.ts';
export type {
  AcceptedAnswer,
  EndedEmail,
  RetriedEmail,
  MailHandOver,
  MailRules,
  MailWork,
  StoredAttachment,
  TakenEmail,
} from './mail-work.ts';
export { migrate, pendingMigrations } from './migrate.ts';
export { dropStrayAttempts } from './old-attempts.ts';
export { dropOldDeadLetters, dropSurplusDeadLetters } from './old-dead-letters.ts';
export { dropOldEvents } from './old-events.ts';
export { dropMailContents, dropOldMail } from './old-mail.ts';
export type { Page, PageRequest } from './page.ts';
export { createPool } from './pool.ts';
export type { PoolOptions } from './pool.ts';
export { createProviderNotificationStore } from './provider-notifications.ts';
export type { ProviderNotificationStore } from './provider-notifications.ts';
export { readiness, requireMigrated } from './readiness.ts';
export type { Readiness } from './readiness.ts';
export type { Queryable } from './statement.ts';
export { createSuppressionStore } from './suppressions.ts';
export type {
  AddedSuppression,
  Removal,
  Suppression,
  SuppressionKey,
  SuppressionOrigin,
  SuppressionStore,
} from './suppressions.ts';
export { createTopicStore } from './topics.ts';
export type { NewTopic, Topic, TopicStore } from './topics.ts';
export type { Transaction, Transactions } from './transaction.ts';
export type { SendOutcome, SendRequest } from './send-request.ts';
export { createUnsubscribeStore } from './unsubscribes.ts';
export type { UnsubscribeSource, UnsubscribeStore } from './unsubscribes.ts';
export { createWakeUpListener, createWakeUps } from './wake-ups.ts';
export type { WakeUp, WakeUpListener, WakeUps } from './wake-ups.ts';
export { createWebhookStore } from './webhooks.ts';
export type { NewWebhook, Webhook, WebhookCreation, WebhookStore } from './webhooks.ts';
