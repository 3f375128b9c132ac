import type { SesMail } from '@postrider/domain';
import {
  authenticateSns,
  confirmSubscription,
  readReceivedMail,
  readSesNotification,
} from '@postrider/notifications';
import type { SnsEnvelope, SnsReception } from '@postrider/notifications';
import type { Logger, Metrics } from '@postrider/runtime';
import type { ProviderNotificationStore, SesMailStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import type { Answer } from '../../http/answer.ts';
import { comeAgain, notBelieved } from '../../problems/answers.ts';
import type { SnsAccess } from '../../sns-access.ts';
import type { HandleKeyless } from '../route.ts';

export interface SnsIntake {
  readonly sns: SnsAccess;
  readonly notifications: ProviderNotificationStore;
  readonly sesMail: SesMailStore;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'api'>, 'providerNotifications'>;
}

/** What became of a message of SNS, in a word for the metric; and the answer, by which SNS comes again or does not. */
interface Intake {
  readonly result: string;
  readonly answer: Answer;
  /** For the log, beside the message's names. Nothing of what it says. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Not as the operator wants it, though answered with 200: SNS must not come again. */
const UNWELCOME = new Set(['unsubscribed', 'bucket_refused']);

const TAKEN = json(200, { received: true });

/**
 * `POST /internal/ses/sns`: what SES reports, as SNS posts it. Signed by SNS and of a topic that is allowed, or refused
 * for good (400). With 5xx SNS tries again: while a certificate cannot be fetched, a subscription cannot be confirmed,
 * or Postgres is away. Whatever else an authentic message holds is taken (200), also what nobody here understands:
 * to be sent it again would not help.
 */
export function receiveSns(intake: SnsIntake): HandleKeyless {
  return async ({ body, requestId }) => {
    const tell = (level: 'info' | 'warn', result: string, fields: Intake['fields']): void => {
      intake.metrics.providerNotifications.inc({ result });
      intake.logger[level]('provider notification', { result, request_id: requestId, ...fields });
    };
    let named = {};
    try {
      const reception = await authenticateSns(body, intake.sns.trust);
      if (reception.kind === 'authentic') named = namesOf(reception.envelope);
      const { result, answer, fields } =
        reception.kind === 'authentic' ? await take(reception.envelope, intake) : turnedDown(reception);
      const isWell = answer.kind === 'json' && !UNWELCOME.has(result);
      tell(isWell ? 'info' : 'warn', result, { ...named, ...fields });
      return answer;
    } catch (error) {
      // It is answered with 5xx, and its fault logged, as that of any route.
      tell('warn', 'unavailable', { ...named, reason: 'it failed here' });
      throw error;
    }
  };
}

/** Of an authentic message: what it can be found by at SNS. */
function namesOf({ TopicArn, MessageId }: SnsEnvelope): Intake['fields'] {
  return { topic: TopicArn, message_id: MessageId };
}

function turnedDown(reception: Exclude<SnsReception, { kind: 'authentic' }>): Intake {
  const fields = { reason: reception.why };
  if (reception.kind === 'unavailable') return { result: 'unavailable', answer: comeAgain, fields };
  return { result: reception.reason, answer: notBelieved, fields };
}

async function take(envelope: SnsEnvelope, intake: SnsIntake): Promise<Intake> {
  switch (envelope.Type) {
    case 'Notification':
      return takeNotification(envelope, intake);
    case 'SubscriptionConfirmation': {
      const confirmation = await confirmSubscription(envelope, intake.sns.get);
      if (confirmation.kind === 'confirmed') return { result: 'confirmed', answer: TAKEN, fields: {} };
      const isFinal = confirmation.kind === 'refused';
      return {
        result: isFinal ? 'confirmation_refused' : 'unavailable',
        answer: isFinal ? notBelieved : comeAgain,
        fields: { reason: confirmation.why },
      };
    }
    case 'UnsubscribeConfirmation':
      // Its SubscribeURL would subscribe again: that is for the operator to want.
      return { result: 'unsubscribed', answer: TAKEN, fields: {} };
  }
}

async function takeNotification(
  { Message: text, MessageId: messageId, Timestamp: publishedAt }: SnsEnvelope,
  intake: SnsIntake,
): Promise<Intake> {
  const received = readReceivedMail(text);
  if (received?.kind === 'received') return takeReceived(received.mail, messageId, intake);
  const reading = received ?? readSesNotification(text, publishedAt);
  if (reading.kind === 'ignored') {
    return { result: 'ignored', answer: TAKEN, fields: { reason: reading.why } };
  }
  const outcome = await intake.notifications.record({ ...reading, messageId });
  return { result: outcome.replaceAll('-', '_'), answer: TAKEN, fields: { type: reading.event.type } };
}

/** Mail that SES received: an inbound process takes it from here. */
async function takeReceived(
  mail: SesMail,
  notificationId: string,
  { sesMail, sns }: SnsIntake,
): Promise<Intake> {
  const { location, providerMessageId: ses_message_id } = mail;
  if (location.kind === 'object' && !sns.mailBuckets.has(location.bucket)) {
    const reason = 'the bucket is not one of INBOUND_S3_BUCKETS';
    return { result: 'bucket_refused', answer: TAKEN, fields: { ses_message_id, reason } };
  }
  const added = await sesMail.add(notificationId, mail);
  return { result: added ? 'received' : 'repeated', answer: TAKEN, fields: { ses_message_id } };
}
