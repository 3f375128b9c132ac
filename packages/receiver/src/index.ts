export { parseEvent } from './parse-event.ts';
export type {
  NotificationDetail,
  ReceivedMessage,
  SendResult,
  Unsubscribed,
  ProviderNotification,
  WebhookEvent,
} from './webhook-event.ts';
export { SignatureVerificationError, verifySignature } from './verify-signature.ts';
export type { SignatureFault, SignedRequest } from './verify-signature.ts';
