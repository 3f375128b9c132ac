import { createHash } from 'node:crypto';
import { BlobStoreUnavailableError } from '@postrider/blobs';
import type { BlobStore } from '@postrider/blobs';
import type { MessageParser } from '@postrider/received-mail';
import type { Logger, Metrics } from '@postrider/runtime';
import { ScreeningUnavailableError } from '@postrider/screening';
import { StoreUnavailableError } from '@postrider/store';
import type { IncomingMessage, MessageIntake, StoredMessage } from '@postrider/store';
import type { MailIntake, Receipt, ReceivedEnvelope } from '../smtp/intake.ts';
import type { Screening } from './screening.ts';
import { createStages } from './stages.ts';
import { storeAttachments } from './store-blobs.ts';

export interface MailIntakeParts {
  readonly store: MessageIntake;
  readonly blobs: Pick<BlobStore, 'put'>;
  readonly parser: Pick<MessageParser, 'parse'>;
  readonly screening: Screening;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'inbound'>, 'inboundMessages' | 'inboundStageDuration'>;
}

const NOBODY: Receipt = { kind: 'refused', code: 550, words: 'No such recipient here' };
const LATER: Receipt = { kind: 'later', words: 'The message cannot be stored at the moment' };

/**
 * What becomes of a message: its bytes are read and judged while they are written to the blob store; then one transaction
 * stores it with its event. A blob that no row came to name stays.
 */
export function createMailIntake(parts: MailIntakeParts): MailIntake {
  const { store, logger, metrics } = parts;

  function note({ id, accountId, status, heldReason }: StoredMessage, sessionId: string): void {
    metrics.inboundMessages.inc({ result: status, reason: heldReason ?? '' });
    logger.info(`message.${status}`, { messageId: id, accountId, heldReason, sessionId });
  }

  return {
    async accepts(recipient) {
      return (await store.accepts(recipient)) ? 'known' : 'unknown';
    },
    async receive(raw, envelope) {
      const { sessionId } = envelope;
      try {
        const reception = await receive(parts, raw, envelope);
        if (reception.kind === 'nobody') {
          metrics.inboundMessages.inc({ result: 'nobody', reason: '' });
          return NOBODY;
        }
        const { messages } = reception;
        for (const message of messages) note(message, sessionId);
        if (messages.length === 0) metrics.inboundMessages.inc({ result: 'repeated', reason: '' });
        return { kind: 'accepted', ids: messages.map(({ id }) => id) };
      } catch (error) {
        const reason = reasonOf(error);
        metrics.inboundMessages.inc({ result: 'later', reason });
        logger.warn('message not stored', { reason, sessionId, error });
        return LATER;
      }
    },
  };
}

async function receive(parts: MailIntakeParts, raw: Buffer, envelope: ReceivedEnvelope) {
  const stages = createStages(parts.metrics);
  const content = raw.subarray(envelope.traceBytes);
  const [blob, { attachments, automatic, fromAddresses, headers, ...parsed }, screened] = await Promise.all([
    stages.timed('blobs', parts.blobs.put(raw)),
    stages.timed('parse', parts.parser.parse(content)),
    parts.screening.screen(content, { ...envelope, rcptTo: envelope.recipients }, stages),
  ]);
  const message: IncomingMessage = {
    ...parsed,
    ...screened,
    contentDigest: createHash('sha256').update(content).digest(),
    blob,
    size: content.length,
    recipients: envelope.recipients,
    senders: [...fromAddresses, envelope.mailFrom],
    headers,
    attachments: await stages.timed('blobs', storeAttachments(parts.blobs, attachments)),
    automatic: automatic || envelope.mailFrom === '',
  };
  return stages.timed('store', parts.store.receive(message));
}

function reasonOf(error: unknown): string {
  if (error instanceof StoreUnavailableError) return 'postgres';
  if (error instanceof BlobStoreUnavailableError) return 'blobs';
  return error instanceof ScreeningUnavailableError ? 'screening' : 'other';
}
