import { createHash } from 'node:crypto';
import { BlobStoreUnavailableError } from '@postrider/blobs';
import type { BlobStore } from '@postrider/blobs';
import { Semaphore } from '@postrider/limits';
import type { MessageParser, ParsedMessage } from '@postrider/received-mail';
import type { LogFields, Logger, Metrics } from '@postrider/runtime';
import { ScreeningUnavailableError } from '@postrider/screening';
import { StoreUnavailableError, SweptBlobsError } from '@postrider/store';
import type {
  IncomingAttachment,
  IncomingMessage,
  ReceivedMessageStore,
  Reception,
  SesMailClaim,
  StoredMessage,
} from '@postrider/store';
import { AuthorUnavailableError } from './screening.ts';
import type { Screened } from './screening.ts';
import { settleAll } from './settle-all.ts';
import { timed } from './stage-timer.ts';
import { withSweptRestored } from './with-swept-restored.ts';

export interface MailPipelineParts {
  readonly store: Pick<ReceivedMessageStore, 'receive' | 'forgetSwept'>;
  readonly blobs: Pick<BlobStore, 'put'>;
  readonly parser: Pick<MessageParser, 'parse'>;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'inbound'>, 'inboundMessages' | 'inboundStageDuration'>;
}

/** One message, from SMTP or from SES. */
export interface Mail {
  /** The bytes that we store. */
  readonly raw: Buffer;
  /** The message as its sender wrote it. A repeat of the message has the same bytes here. */
  readonly content: Buffer;
  /** Messages of different clients take turns at the worker threads. */
  readonly client: string;
  /** The envelope sender. '' is the null sender. */
  readonly mailFrom: string;
  /** The envelope recipients, as written. */
  readonly recipients: readonly string[];
  /** @throws ScreeningUnavailableError @throws AuthorUnavailableError */
  screen(): Promise<Screened>;
  /** The claim on the row, for mail from SES. */
  readonly claim?: SesMailClaim;
  /** Log fields that identify the message. */
  readonly logFields: LogFields;
}

/**
 * `later`: the message was not stored, or Postgres did not confirm the commit. The sender sends it again. A
 * repeat within one hour is stored once.
 */
export type PipelineOutcome = Reception | { readonly kind: 'later' };

/** Attachments per message that are written at the same time. */
const CONCURRENT_WRITES = 4;

/**
 * Processes one message. It parses and judges the message while its bytes go to the blob store. Then one
 * transaction stores the message with its event. One day later, the blob sweep removes the bytes of a message
 * that was not stored.
 */
export class MailPipeline {
  readonly #parts: MailPipelineParts;

  constructor(parts: MailPipelineParts) {
    this.#parts = parts;
  }

  /** Never rejects. When it resolves, the pipeline reads the bytes no more. */
  async process(mail: Mail): Promise<PipelineOutcome> {
    const { logger } = this.#parts;
    try {
      const reception = await receive(this.#parts, mail);
      // No recipient has an inbox or a rule.
      if (reception.kind === 'nobody') {
        this.#count('nobody');
        logger.info('message.nobody', { ...mail.logFields });
        return reception;
      }
      for (const message of reception.messages) this.#report(message, mail.logFields);
      if (reception.messages.length === 0) this.#count('repeated');
      return reception;
    } catch (error) {
      const reason = reasonOf(error);
      this.#count('later', reason);
      logger.warn('message not stored', { reason, ...mail.logFields, error });
      return { kind: 'later' };
    }
  }

  #report({ id, accountId, status, heldReason }: StoredMessage, logFields: LogFields): void {
    this.#count(status, heldReason ?? '');
    this.#parts.logger.info(`message.${status}`, {
      message_id: id,
      account_id: accountId,
      held_reason: heldReason,
      ...logFields,
    });
  }

  #count(result: string, reason = ''): void {
    this.#parts.metrics.inboundMessages.inc({ result, reason });
  }
}

async function receive(parts: MailPipelineParts, mail: Mail): Promise<Reception> {
  const { metrics } = parts;
  const { raw, content, mailFrom, recipients } = mail;
  const [blob, { attachments, automatic, fromAddresses, ...parsed }, screened] = await settleAll([
    timed(metrics, 'blobs', parts.blobs.put(raw)),
    timed(metrics, 'parse', parts.parser.parse(content, mail.client)),
    mail.screen(),
  ]);
  const message: IncomingMessage = {
    ...parsed,
    ...(fromAddresses === null ? withUnknownAuthor(screened) : screened),
    digest: digestOf(mail),
    blob,
    size: content.length,
    recipients,
    senders: fromAddresses && [...fromAddresses, mailFrom], // null: the authors are not certain
    attachments:
      attachments.length > 0 ? await timed(metrics, 'blobs', storeAttachments(parts.blobs, attachments)) : [],
    automatic: automatic || mailFrom === '',
  };
  // The sweep may have removed the same bytes, put for an older message: then they are put again.
  const putAgain = () => settleAll([parts.blobs.put(raw), storeAttachments(parts.blobs, attachments)]);
  const receiving = withSweptRestored(parts.store, putAgain, () => parts.store.receive(message, mail.claim));
  return timed(metrics, 'store', receiving);
}

/** A sender that lost our answer repeats the bytes in the same envelope. */
function digestOf({ mailFrom, recipients, content }: Mail): Buffer {
  const envelope = JSON.stringify([mailFrom, recipients.toSorted()]);
  return createHash('sha256').update(envelope).update(content).digest();
}

/**
 * The From header does not show the authors with certainty, so DMARC cannot be checked. We hold the message,
 * as for the policy `quarantine`. This also applies to mail that SES judged.
 */
function withUnknownAuthor({ auth, heldReason }: Screened): Screened {
  return { auth: { ...auth, dmarc: 'fail' }, heldReason: heldReason ?? 'auth_failed' };
}

/**
 * Writes the contents of attachments. After a failed write, no further write begins.
 * @throws BlobStoreUnavailableError
 */
async function storeAttachments(
  blobs: Pick<BlobStore, 'put'>,
  attachments: ParsedMessage['attachments'],
): Promise<IncomingAttachment[]> {
  const failed = new AbortController();
  const slots = new Semaphore(CONCURRENT_WRITES, failed.signal);
  const writes = attachments.map(({ content, ...attachment }) =>
    slots.run(async () => {
      try {
        return { ...attachment, size: content.length, blob: await blobs.put(content) };
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    }),
  );
  return settleAll(writes);
}

function reasonOf(error: unknown): string {
  if (error instanceof StoreUnavailableError) return 'postgres';
  if (error instanceof BlobStoreUnavailableError || error instanceof SweptBlobsError) return 'blobs';
  if (error instanceof AuthorUnavailableError) return 'author_dns';
  return error instanceof ScreeningUnavailableError ? 'screening' : 'other';
}
