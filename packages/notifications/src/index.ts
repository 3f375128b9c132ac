export { readReceivedMail } from './ses/received-mail.ts';
export { readSesNotification } from './ses/read-notification.ts';
export { authenticateSns, type SnsReception, type SnsTrust } from './sns/authenticate.ts';
export { confirmSubscription } from './sns/confirm-subscription.ts';
export { snsMessage, type SnsEnvelope } from './sns/envelope.ts';
export type { HttpsAnswer, HttpsGet } from './sns/https-get.ts';
export {
  certificateFromPem,
  fetchedCertificates,
  type SigningCertificates,
} from './sns/signing-certificates.ts';
