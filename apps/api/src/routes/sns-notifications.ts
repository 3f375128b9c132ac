import type { SesMail } from '@postrider/domain';
import {
  authenticateSns,
  confirmSubscription,
  readReceivedMail,
  readSesNotification,
  snsMessage,
} from '@postrider/notifications';
import type { SnsEnvelope, SnsReception } from '@postrider/notifications';
import type { Logger, Metrics } from '@postrider/runtime';
import type { ProviderNotificationStore, SesMailStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { snsBody } from '../http/body-rules.ts';
import { comeAgain, notBelieved } from '../problems/answers.ts';
import type { SnsAccess } from '../sns-access.ts';
import type { Documented, KeylessRoute } from './route.ts';
import type { AnswerOf } from './schemas.ts';

export interface SnsRouteParts {
  readonly sns: SnsAccess;
  readonly notifications: ProviderNotificationStore;
  readonly sesMail: SesMailStore;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'api'>, 'providerNotifications'>;
}

/** The outcome of one request from SNS. */
interface Outcome {
  /** The label of the metric. */
  readonly result: string;
  /** SNS sends the message again only after a 5xx. */
  readonly answer: Answer;
  /** More fields of the log line. They hold no content of the message. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Results that the operator should look at, although the answer is 200 and SNS does not send the message
 * again.
 */
const UNWELCOME = new Set(['unsubscribed', 'bucket_refused']);

const received = z.object({ received: z.literal(true) }).meta({ id: 'Received' });
const ACCEPTED = json<AnswerOf<typeof received>>(200, { received: true });

/**
 * Takes the reports of SES and the mail that SES received, as SNS posts them.
 *
 * - A message that SNS has not signed, or of a topic that is not allowed, gets 400: SNS does not send it
 *   again.
 * - While the API cannot fetch the certificate, confirm the subscription or reach Postgres, it answers 5xx.
 *   SNS then sends the message again: three times within a minute by default, for an hour at most.
 * - Every other authentic message gets 200, also one that the API does not understand: a repetition would not
 *   help.
 */
export function receiveSns(parts: SnsRouteParts): Documented<KeylessRoute> {
  return {
    method: 'post',
    path: '/internal/ses/sns',
    scope: null,
    body: snsBody,
    docs: {
      operationId: 'receiveSns',
      summary: 'For SNS: take what SES reports, and mail that it received',
      description: 'Believes what SNS has signed for an allowed topic, and nothing else.',
      request: snsMessage,
      requestMedia: {
        types: ['text/plain; charset=UTF-8'],
        words: 'read as JSON whatever its Content-Type says: SNS says that it is plain text',
      },
      success: { status: 200, body: received },
      refusals: ['400 validation-failed'],
    },
    async handle({ body, requestId }) {
      const log = (level: 'info' | 'warn', result: string, fields: Outcome['fields']): void => {
        parts.metrics.providerNotifications.inc({ result });
        parts.logger[level]('provider notification', { result, request_id: requestId, ...fields });
      };
      // The operator finds the message under these names at SNS.
      let named = {};
      try {
        const reception = await authenticateSns(body, parts.sns.trust);
        if (reception.kind === 'authentic') {
          const { TopicArn: topic, MessageId: message_id } = reception.envelope;
          named = { topic, message_id };
        }
        const { result, answer, fields } =
          reception.kind === 'authentic' ? await take(reception.envelope, parts) : refused(reception);
        const isWell = answer.kind === 'json' && !UNWELCOME.has(result);
        log(isWell ? 'info' : 'warn', result, { ...named, ...fields });
        return answer;
      } catch (error) {
        // The API answers 5xx and logs the error, as for every route.
        log('warn', 'unavailable', { ...named, reason: 'it failed here' });
        throw error;
      }
    },
  };
}

function refused({ kind, why }: Exclude<SnsReception, { kind: 'authentic' }>): Outcome {
  return {
    result: kind,
    answer: kind === 'unavailable' ? comeAgain : notBelieved,
    fields: { reason: why },
  };
}

async function take(envelope: SnsEnvelope, parts: SnsRouteParts): Promise<Outcome> {
  switch (envelope.Type) {
    case 'Notification':
      return takeNotification(envelope, parts);
    case 'SubscriptionConfirmation': {
      const confirmation = await confirmSubscription(envelope, parts.sns.get);
      if (confirmation.kind === 'confirmed') return { result: 'confirmed', answer: ACCEPTED, fields: {} };
      const isFinal = confirmation.kind === 'refused';
      return {
        result: isFinal ? 'confirmation_refused' : 'unavailable',
        answer: isFinal ? notBelieved : comeAgain,
        fields: { reason: confirmation.why },
      };
    }
    case 'UnsubscribeConfirmation':
      // A request to its SubscribeURL would subscribe again. Only the operator may decide that.
      return { result: 'unsubscribed', answer: ACCEPTED, fields: {} };
  }
}

async function takeNotification(
  { Message: text, MessageId: notificationId, Timestamp: publishedAt }: SnsEnvelope,
  parts: SnsRouteParts,
): Promise<Outcome> {
  const mail = readReceivedMail(text); // null: the notification is not about received mail
  if (mail?.kind === 'received') return takeReceived(mail.mail, notificationId, parts);
  const reading = mail ?? readSesNotification(text, publishedAt);
  if (reading.kind === 'ignored') {
    return { result: 'ignored', answer: ACCEPTED, fields: { reason: reading.why } };
  }
  const outcome = await parts.notifications.record({ ...reading, notificationId });
  return { result: outcome.replaceAll('-', '_'), answer: ACCEPTED, fields: { type: reading.event.type } };
}

/** Stores the place of mail that SES received. An inbound process fetches it from there. */
async function takeReceived(
  mail: SesMail,
  notificationId: string,
  { sesMail, sns }: SnsRouteParts,
): Promise<Outcome> {
  const { location, providerMessageId: ses_message_id } = mail;
  if (location.kind === 'object' && !sns.mailBuckets.has(location.bucket)) {
    const reason = 'the bucket is not one of INBOUND_S3_BUCKETS';
    return { result: 'bucket_refused', answer: ACCEPTED, fields: { ses_message_id, reason } };
  }
  const added = await sesMail.add(notificationId, mail);
  return { result: added ? 'received' : 'repeated', answer: ACCEPTED, fields: { ses_message_id } };
}
