export { parseEvent, verifySignature } from './verify-signature.ts';
export { SignatureVerificationError } from './signature-error.ts';
export type { SignatureFault } from './signature-error.ts';
export type { SignedRequest } from './signed-request.ts';
export type {
  NotificationDetail,
  ProviderNotification,
  ReceivedMessage,
  SendResult,
  TrackedNotification,
  Unsubscribed,
  WebhookEvent,
} from './webhook-event.ts';
