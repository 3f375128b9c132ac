export type { SesEvent, SesReading, SuppressionRequest } from './ses/ses-event.ts';
export { readReceivedMail, type ReceivedReading } from './ses/received-mail.ts';
export { readSesNotification } from './ses/read-notification.ts';
export { authenticateSns, type SnsReception, type SnsTrust } from './sns/authenticate.ts';
export { confirmSubscription, type Confirmation } from './sns/confirm-subscription.ts';
export {
  parseSnsEnvelope,
  snsMessage,
  type EnvelopeParse,
  type SnsEnvelope,
  type SnsSubscriptionConfirmation,
} from './sns/envelope.ts';
export type { HttpsAnswer, HttpsGet } from './sns/https-get.ts';
export {
  certificateFromPem,
  fetchedCertificates,
  type CertificateAnswer,
  type SigningCertificates,
} from './sns/signing-certificates.ts';
export { verifySnsSignature, type SignatureVerdict } from './sns/verify-signature.ts';
