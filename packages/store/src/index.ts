export { createAccountStore } from './accounts.ts';
export type { Account, AccountStore } from './accounts.ts';
export { createApiKeyStore } from './api-keys.ts';
export type { ApiKey, ApiKeyStore, NewApiKey } from './api-keys.ts';
export { readBacklog, readOutstanding } from './backlog.ts';
export type { Backlog, Outstanding } from './backlog.ts';
export { openDatabase } from './database.ts';
export type { Database } from './database.ts';
export { createDeadLetterStore } from './dead-letters.ts';
export type { DeadLetter, DeadLetterStore } from './dead-letters.ts';
export { createDeliveryTimetable } from './delivery-timetable.ts';
export type {
  Admission,
  ClaimedDelivery,
  ClaimLimits,
  DeliveryTimetable,
  Front,
} from './delivery-timetable.ts';
export { createDeliveryWork } from './delivery-work.ts';
export type {
  DeadAttempt,
  DeliveryHandOver,
  DeliveryWork,
  FinishedAttempt,
  RetriedAttempt,
  TakenDelivery,
} from './delivery-work.ts';
export { createDomainStore } from './domains.ts';
export type { Domain, DomainState, DomainStore, NewDomain } from './domains.ts';
export { createDomainTurns } from './domain-turns.ts';
export type { DomainTurn, DomainTurns, TurnLength, TurnResult } from './domain-turns.ts';
export { createEmailStore } from './emails.ts';
export type { Email, EmailStatus, EmailStore, ListedEmail } from './emails.ts';
export { isUnavailable, mappingUnavailable, StoreUnavailableError } from './errors.ts';
export { readEventMoment } from './event-moment.ts';
export type { EventMoment } from './event-moment.ts';
export { createHousekeeping } from './housekeeping.ts';
export type { Housekeeping, Retention } from './housekeeping.ts';
export { createMailTimetable } from './mail-timetable.ts';
export type { ClaimedEmail, MailTimetable } from './mail-timetable.ts';
export { createMailWork } from './mail-work.ts';
export type { AcceptedAnswer, MailHandOver, MailWork, StoredAttachment, TakenEmail } from './mail-work.ts';
export { migrate, pendingMigrations } from './migrate.ts';
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
export type { SendOutcome, SendRequest } from './send-emails.ts';
export { createUnsubscribeStore } from './unsubscribes.ts';
export type { UnsubscribeSource, UnsubscribeStore } from './unsubscribes.ts';
export { createWakeUpListener, createWakeUps } from './wake-ups.ts';
export type { WakeUp, WakeUpListener, WakeUps } from './wake-ups.ts';
export { createWebhookStore } from './webhooks.ts';
export type { NewWebhook, Webhook, WebhookStore } from './webhooks.ts';
