export { apiKeyDigest, bearerKey, KEY_KINDS, newApiKey } from './api-key.ts';
export type { KeyKind } from './api-key.ts';
export { blamedBy, SANDBOX_DOMAIN, toBeSuppressed } from './blamed-addresses.ts';
export type { BlamedAddress } from './blamed-addresses.ts';
export type { Clock } from './clock.ts';
export { parseDomainName } from './domain-name.ts';
export type { DomainNameParse } from './domain-name.ts';
export { decideOutcome } from './delivery-outcome.ts';
export type { AttemptResult, DeadLetterReason, DeliveryOutcome } from './delivery-outcome.ts';
export { hasControlCharacter, isWellFormed, parseEmailAddress } from './email-address.ts';
export type { EmailAddress } from './email-address.ts';
export type { AttachmentDraft } from './email-attachments.ts';
export { faultsOf, requestedBatch, requestedEmail } from './email-batch.ts';
export type { RequestedEmail } from './email-batch.ts';
export { UNKNOWN_TOPIC } from './email-draft.ts';
export type { EmailDraft } from './email-draft.ts';
export type { EmailTag } from './email-tags.ts';
export { envelopeBytes } from './envelope.ts';
export type { EnvelopeParts } from './envelope.ts';
export { EVENT_DATA, notificationDetailOf } from './event-data.ts';
export type { EventData, NotificationDetail } from './event-data.ts';
export { EVENT_TYPES, isEventType, receivedTypes } from './event-types.ts';
export type { EventType } from './event-types.ts';
export { fieldPath, valueAt } from './field-path.ts';
export { isFresh } from './freshness.ts';
export { newId, parseId } from './ids.ts';
export type {
  AccountId,
  ApiKeyId,
  DeadLetterId,
  DomainId,
  EmailId,
  EventId,
  Id,
  Noun,
  SuppressionId,
  TopicId,
  WebhookId,
} from './ids.ts';
export { lastEventAfter } from './last-event.ts';
export { LIMITS } from './limits.ts';
export { isMediaType } from './media-type.ts';
export { decideMailOutcome } from './mail-outcome.ts';
export type { HandOver, MailOutcome, ProviderNotification } from './mail-outcome.ts';
export {
  NOTIFICATION_AGE_HOURS_MAX,
  NOTIFICATION_ID_HOURS,
  UNCLAIMED_NOTIFICATION_HOURS,
} from './notification-age.ts';
export { plainAddress } from './plain-address.ts';
export { problemDocument, PROBLEMS } from './problems.ts';
export type { AlsoStatus, FieldFault, ProblemBases, ProblemDocument, ProblemSlug } from './problems.ts';
export { CONTRACT_REQUESTS_PER_MINUTE, RATE_WINDOW_MS, windowMs } from './rate-limit.ts';
export type { RateDecision, RateLimiter } from './rate-limit.ts';
export { recordEvent } from './record-event.ts';
export type { EventDraft, EventRecord, OutboxTransaction } from './record-event.ts';
export { draftOfReported } from './reported-event.ts';
export type { ReportedEmail, ReportedEvent } from './reported-event.ts';
export { requestDigest } from './request-digest.ts';
export { CONTRACT_RETRY_DELAYS_SECONDS, delayAfter, retrySchedule } from './retry-schedule.ts';
export type { RetrySchedule } from './retry-schedule.ts';
export { grants, isScope, SCOPES } from './scopes.ts';
export type { Scope } from './scopes.ts';
export { createSecretBox } from './secret-box.ts';
export type { SealedSecret, SecretBox } from './secret-box.ts';
export { signatureHeader } from './signature.ts';
export { newSigningSecret } from './signing-secret.ts';
export { inboundSubject } from './subject.ts';
export { createUnsubscribeTokens } from './unsubscribe-token.ts';
export type { UnsubscribeTarget, UnsubscribeTokens } from './unsubscribe-token.ts';
export { parseEndpoint } from './webhook-endpoint.ts';
export type { EndpointParse } from './webhook-endpoint.ts';
