export { apiKeyDigest, bearerKey, KEY_KINDS, newApiKey } from './api-key.ts';
export type { KeyKind } from './api-key.ts';
export { awsPartitionOf } from './aws-partitions.ts';
export { blamedAddresses, SANDBOX_RECIPIENT_DOMAIN, addressesToSuppress } from './blamed-addresses.ts';
export type { BlamedAddress } from './blamed-addresses.ts';
export { BLOB_LOCATIONS, isBucketName, parseBlobLocation } from './blob-location.ts';
export type { Clock } from './clock.ts';
export { asciiDomain, mailDomain, parseDomainName } from './domain-name.ts';
export { DEAD_LETTER_REASONS, decideOutcome } from './delivery-outcome.ts';
export type { AttemptResult, DeadLetterReason, DeliveryOutcome } from './delivery-outcome.ts';
export { hasControlCharacter, parseEmailAddress, senderDomain } from './email-address.ts';
export type { AttachmentDraft } from './email-attachments.ts';
export { faultsOf, requestedBatch, requestedEmail } from './email-batch.ts';
export type { RequestedEmail } from './email-batch.ts';
export { emailRequest, smtpUtf8Faults, UNKNOWN_TOPIC } from './email-draft.ts';
export type { DraftFault, EmailDraft } from './email-draft.ts';
export type { EmailTag } from './email-tags.ts';
export { failureRunAfter, isFailing } from './endpoint-health.ts';
export type { EndedAttempt, FailureRun } from './endpoint-health.ts';
export { envelopeBytes } from './envelope.ts';
export { addDurations, DURATION_BOUNDS_MS, p95Of } from './durations.ts';
export type { Durations } from './durations.ts';
export { EVENT_DATA, notificationDetailOf, recipientsOf } from './event-data.ts';
export type { EventData, NotificationDetail } from './event-data.ts';
export { EVENT_TYPES, isEventType, receivedTypes } from './event-types.ts';
export type { EventType } from './event-types.ts';
export { fieldPath, valueAt } from './field-path.ts';
export { forwardedFile, forwardRequest, parseForward } from './forward-draft.ts';
export type { ForwardedFile } from './forward-draft.ts';
export { DEAD_LETTERS_IN_NOTICE_MAX, healthNotice, operatorEvent } from './health-notice.ts';
export type { HealthChange, OperatorEvent } from './health-notice.ts';
export { idPattern, newId, parseId, timeOfId } from './ids.ts';
export type {
  AccountId,
  ApiKeyId,
  AttachmentId,
  BlockedSenderId,
  DeadLetterId,
  DomainId,
  EmailId,
  EventId,
  Id,
  InboxId,
  MessageId,
  Noun,
  RecoveryId,
  RoutingRuleId,
  SuppressionId,
  ThreadId,
  TopicId,
  WebhookId,
} from './ids.ts';
export { inboundAddress, inboundDomain, inboundName } from './inbound-address.ts';
export { sharedInboundDomains } from './inbound-domains.ts';
export { RESERVED_NAMES } from './reserved-names.ts';
export { parseInboundMatch } from './inbound-match.ts';
export type { InboundMatch } from './inbound-match.ts';
export { parseIsoMoment, parseIsoTime } from './iso-time.ts';
export { lastEventAfter, lastEventsAtLeast } from './last-event.ts';
export { inWords, LIMITS } from './limits.ts';
export { createLinkTokens } from './link-token.ts';
export type { LinkTarget, LinkTokens, ReceivedBytes, SentAttachment } from './link-token.ts';
export { isMediaType } from './media-type.ts';
export { decideMailOutcome, THROTTLED_DELAY_MS } from './mail-outcome.ts';
export type { MailOutcome, NextAttempt, ProviderNotification, ProviderResult } from './mail-outcome.ts';
export type { MailReader } from './mail-reader.ts';
export { namesAddress } from './names-address.ts';
export { answeredIds } from './message-ids.ts';
export type { AnsweredIds } from './message-ids.ts';
export {
  NOTIFICATION_AGE_HOURS_MAX,
  NOTIFICATION_ID_HOURS,
  UNCLAIMED_NOTIFICATION_HOURS,
} from './notification-age.ts';
export { parseUrl } from './parse-url.ts';
export { oneLineText, parsedBy } from './text-field.ts';
export { plainAddress, plainAddresses } from './plain-address.ts';
export { problemDocument, PROBLEMS } from './problems.ts';
export type { AlsoStatus, FieldFault, ProblemBases, ProblemDocument, ProblemSlug } from './problems.ts';
export { windowMs } from './rate-limit.ts';
export type { RateDecision, RateLimiter } from './rate-limit.ts';
export { cutBody, cutName, messageRecord, wholeMessageRecord } from './received-message.ts';
export type { ReceivedAttachment, ReceivedMessage } from './received-message.ts';
export { inboundSubject, newEvents, recordEvent, ruleOfSubject } from './record-event.ts';
export type { EventBatch, EventDraft, OutboxTransaction } from './record-event.ts';
export { reportedContent, reportedEventDraft } from './reported-event.ts';
export type { ReportedEmail, ReportedEvent } from './reported-event.ts';
export { parseReply, replyRequest } from './reply-draft.ts';
export type { ReplyDraft } from './reply-draft.ts';
export { requestDigest } from './request-digest.ts';
export { CONTRACT_RETRY_DELAYS_SECONDS, retrySchedule } from './retry-schedule.ts';
export type { RetrySchedule } from './retry-schedule.ts';
export { canHave, grants, isScope, SCOPES } from './scopes.ts';
export type { Scope } from './scopes.ts';
export { parseSearchText } from './search-text.ts';
export type { SearchText } from './search-text.ts';
export { createSecretBox } from './secret-box.ts';
export type { SealedSecret, SecretBox } from './secret-box.ts';
export { AUTH_RESULTS, HELD_REASONS } from './screening-words.ts';
export type { AuthResult, AuthResults, HeldReason } from './screening-words.ts';
export { senderPattern, senderPatterns } from './sender-patterns.ts';
export type { SesMail } from './ses-mail.ts';
export { newSigningSecret, signatureHeader, standardSecret, standardWebhooksHeaders } from './signature.ts';
export { escapeTerminalControls, terminalJson } from './terminal-json.ts';
export { ADDRESS_LENGTH, DOMAIN_LENGTH, listPattern, PATTERNS, wordsPattern } from './text-patterns.ts';
export { createUnsubscribeTokens } from './unsubscribe-token.ts';
export type { UnsubscribeTarget, UnsubscribeTokens } from './unsubscribe-token.ts';
export { hostOf, parseEndpoint } from './webhook-endpoint.ts';
export {
  deliveryHeaderNames,
  openHeaders,
  sealHeaders,
  webhookHeaderFault,
  webhookHeadersSchema,
} from './webhook-headers.ts';
export type { WebhookHeaders } from './webhook-headers.ts';
export { writtenDomains } from './written-domain.ts';
