import { createHash } from 'node:crypto';
import { BlobStoreUnavailableError } from '@postrider/blobs';
import type { BlobStore } from '@postrider/blobs';
import type { MessageParser } from '@postrider/received-mail';
import type { LogFields, Logger, Metrics } from '@postrider/runtime';
import { ScreeningUnavailableError } from '@postrider/screening';
import { StoreUnavailableError, SweptBlobsError } from '@postrider/store';
import type {
  IncomingMessage,
  ReceivedMessageStore,
  Reception,
  SesMailClaim,
  StoredMessage,
} from '@postrider/store';
import type { Screened } from './screening.ts';
import { settleAll } from './settle-all.ts';
import { createStages, type Stages } from './stages.ts';
import { storeAttachments } from './store-blobs.ts';
import { withSweptRestored } from './with-swept-restored.ts';

export interface MailPipelineParts {
  readonly store: Pick<ReceivedMessageStore, 'receive' | 'forgetSwept'>;
  readonly blobs: Pick<BlobStore, 'put'>;
  readonly parser: Pick<MessageParser, 'parse'>;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'inbound'>, 'inboundMessages' | 'inboundStageDuration'>;
}

/** A message however it came. */
export interface Mail {
  /** What is kept. */
  readonly raw: Buffer;
  /** The message as its sender gave it: the same when it comes again. */
  readonly content: Buffer;
  /** '' is the null sender. */
  readonly mailFrom: string;
  /** Of the envelope, as written. */
  readonly recipients: readonly string[];
  /** @throws ScreeningUnavailableError */
  screen(stages: Stages): Promise<Screened>;
  /** Of mail that SES told of. */
  readonly claim?: SesMailClaim;
  /** What the log names it by. */
  readonly names: LogFields;
}

/** `later`: nothing is stored that anybody sees; to try again may help. */
export type MailOutcome = Reception | { readonly kind: 'later' };

export interface MailPipeline {
  /** Never rejects. Resolves when nothing reads the bytes any more. */
  take(mail: Mail): Promise<MailOutcome>;
}

/**
 * What becomes of a message: its bytes are read and judged while they are written to the blob store; then one transaction
 * stores it with its event. A blob that no row came to name is swept a day later.
 */
export function createMailPipeline(parts: MailPipelineParts): MailPipeline {
  const { logger, metrics } = parts;
  const count = (result: string, reason = '') => metrics.inboundMessages.inc({ result, reason });

  function note({ id, accountId, status, heldReason }: StoredMessage, names: LogFields): void {
    count(status, heldReason ?? '');
    logger.info(`message.${status}`, {
      message_id: id,
      account_id: accountId,
      held_reason: heldReason,
      ...names,
    });
  }

  return {
    async take(mail) {
      try {
        const reception = await receive(parts, mail);
        if (reception.kind === 'nobody') {
          count('nobody');
          logger.info('message.nobody', { ...mail.names });
          return reception;
        }
        for (const message of reception.messages) note(message, mail.names);
        if (reception.messages.length === 0) count('repeated');
        return reception;
      } catch (error) {
        const reason = reasonOf(error);
        count('later', reason);
        logger.warn('message not stored', { reason, ...mail.names, error });
        return { kind: 'later' };
      }
    },
  };
}

async function receive(parts: MailPipelineParts, mail: Mail): Promise<Reception> {
  const stages = createStages(parts.metrics);
  const { raw, content, mailFrom, recipients } = mail;
  const [blob, { attachments, automatic, fromAddresses, headers, ...parsed }, screened] = await settleAll([
    stages.timed('blobs', parts.blobs.put(raw)),
    stages.timed('parse', parts.parser.parse(content)),
    mail.screen(stages),
  ]);
  const message: IncomingMessage = {
    ...parsed,
    ...screened,
    contentDigest: createHash('sha256').update(content).digest(),
    blob,
    size: content.length,
    recipients,
    senders: fromAddresses && [...fromAddresses, mailFrom],
    headers,
    attachments: await stages.timed('blobs', storeAttachments(parts.blobs, attachments)),
    automatic: automatic || mailFrom === '',
  };
  const putAgain = () => settleAll([parts.blobs.put(raw), storeAttachments(parts.blobs, attachments)]);
  const receiving = withSweptRestored(parts.store, putAgain, () => parts.store.receive(message, mail.claim));
  return stages.timed('store', receiving);
}

function reasonOf(error: unknown): string {
  if (error instanceof StoreUnavailableError) return 'postgres';
  if (error instanceof BlobStoreUnavailableError || error instanceof SweptBlobsError) return 'blobs';
  return error instanceof ScreeningUnavailableError ? 'screening' : 'other';
}
