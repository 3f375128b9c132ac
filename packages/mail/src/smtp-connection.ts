import { Readable } from 'node:stream';
import type { ProviderResult } from '@postrider/domain';
import { createTransport } from 'nodemailer';
import type { SendMailOptions, Transporter } from 'nodemailer';
import type SMTPPool from 'nodemailer/lib/smtp-pool';
import type { ComposedMessage } from './compose.ts';
import { isReply, reportsOf, resultOfFault } from './smtp-answer.ts';
import type { SmtpFault } from './smtp-answer.ts';

/** Each limit covers one step of the SMTP session (RFC 5321 4.5.3.2). None covers the whole session. */
export interface SmtpTimeouts {
  /** Until the connection is open. */
  readonly timeoutMs: number;
  /** Until the greeting, until each reply, and until each block of the message is written. */
  readonly replyTimeoutMs: number;
  /**
   * Until the reply to the final dot. If we stop waiting too early, the server may still deliver the message,
   * and the next attempt makes a copy (RFC 1047).
   */
  readonly finalReplyTimeoutMs: number;
}

const BLOCK_BYTES = 65_536;
/** A message has fewer steps. This also ends a session in which the server replies for ever. */
const STEPS_MAX = 1000;
/** Nodemailer's own time limits never fire: each byte restarts them, and they cannot tell the steps apart. */
const NEVER_MS = 2 ** 31 - 1;
/** The longest time that a closed connection stays half open. */
const SOCKET_CLOSE_TIMEOUT_MS = 1000;
/** Nodemailer's log entries at the end of a step: connected, a whole reply, a connection reused. */
const STEP_ENDS = new Set(['network', 'server', 'send']);

/**
 * The final reply of SES (email-smtp.REGION.amazonaws.com). SES replaces our Message-ID with this id. The
 * replies of other servers are free text.
 */
const SES_REPLY = /^250 Ok ([0-9a-f]{16}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d{6})$/;

/** One connection, for one message at a time. It stays open for the next message. */
export class SmtpConnection {
  readonly #transport: Transporter<SMTPPool.SentMessageInfo, SMTPPool.Options>;
  readonly #timeouts: SmtpTimeouts;
  #attempt: SmtpAttempt | null = null;
  /** True after an attempt that ran out of time. Nodemailer may wait for ever, and not connect again. */
  isStuck = false;

  constructor(options: SMTPPool.Options | { readonly url: string }, timeouts: SmtpTimeouts) {
    this.#timeouts = timeouts;
    const log = (entry: { readonly tnx?: string }): void => {
      if (entry.tnx !== undefined && STEP_ENDS.has(entry.tnx)) this.#attempt?.onStepEnded();
    };
    const ignore = (): void => undefined;
    this.#transport = createTransport({
      ...options,
      pool: true,
      maxConnections: 1,
      maxRequeues: 1, // the server may have closed the connection; after one retry our schedule decides
      connectionTimeout: NEVER_MS,
      greetingTimeout: NEVER_MS,
      socketTimeout: NEVER_MS,
      dnsTimeout: timeouts.timeoutMs,
      socketCloseTimeout: SOCKET_CLOSE_TIMEOUT_MS,
      transactionLog: true,
      logger: { level: ignore, trace: ignore, debug: log, info: log, warn: log, error: log, fatal: log },
    } as SMTPPool.Options);
    this.#transport.use('stream', (mail, done) => {
      // Nodemailer reads this stream after the server's reply to DATA.
      mail.message.createReadStream = () => Readable.from(this.#attempt?.blocks() ?? []);
      done();
    });
  }

  /** Makes one attempt. */
  async send({ envelope, bytes }: ComposedMessage): Promise<ProviderResult> {
    const attempt = new SmtpAttempt(bytes, this.#timeouts);
    this.#attempt = attempt;
    try {
      const mail: SendMailOptions & { signal: AbortSignal; envelope: { size: number } } = {
        envelope: {
          // Nodemailer would parse a string, and send `" ann"@example.net` to `ann@example.net`.
          from: asParsed(envelope.from),
          to: envelope.to.map(asParsed),
          // The server learns the size first (RFC 1870). It can refuse a message that is too large before it
          // is sent.
          size: bytes.length,
        },
        raw: bytes,
        signal: attempt.signal,
      };
      const sent = await this.#transport.sendMail(mail);
      const { notifications, deferred } = reportsOf(sent.rejectedErrors ?? [], envelope.to);
      return {
        kind: 'accepted',
        providerMessageId: SES_REPLY.exec(sent.response)?.[1] ?? null,
        notifications,
        deferred,
      };
    } catch (error) {
      return attempt.resultOf(error as SmtpFault, envelope.to);
    } finally {
      attempt.end();
      this.isStuck = attempt.isExpired;
      this.#attempt = null;
    }
  }

  /** Closes the connection and aborts an attempt in flight. */
  close(): void {
    this.#attempt?.abort();
    this.#transport.close({ force: true });
  }
}

function asParsed(address: string): { readonly name: string; readonly address: string } {
  return { name: '', address };
}

/** The time limits of an attempt. Each step that ends starts the limit of the next one. */
class SmtpAttempt {
  readonly #bytes: Buffer;
  readonly #timeouts: SmtpTimeouts;
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout;
  #limitMs: number;
  #steps = 0;
  isExpired = false;
  /** Nodemailer has the whole message. It may have written the final dot. */
  #isWritten = false;

  constructor(bytes: Buffer, timeouts: SmtpTimeouts) {
    this.#bytes = bytes;
    this.#timeouts = timeouts;
    this.#limitMs = timeouts.timeoutMs;
    this.#timer = this.#start(this.#limitMs);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Restarts the time limit for the next step. After `STEPS_MAX`, the current limit runs out. */
  onStepEnded(): void {
    this.#steps += 1;
    if (!this.#isWritten && this.#steps <= STEPS_MAX) this.#limit(this.#timeouts.replyTimeoutMs);
  }

  *blocks(): Generator<Buffer> {
    for (let start = 0; start < this.#bytes.length; start += BLOCK_BYTES) {
      yield this.#bytes.subarray(start, start + BLOCK_BYTES);
      this.onStepEnded();
    }
    this.#isWritten = true;
    this.#limit(this.#timeouts.finalReplyTimeoutMs);
  }

  resultOf(fault: SmtpFault, recipients: readonly string[]): ProviderResult {
    const silence = `no answer from the mail server within ${this.#limitMs} ms`;
    if (this.#isWritten && !isReply(fault.response)) {
      const closed = this.signal.aborted
        ? 'this process closed the connection to the mail server'
        : 'the mail server closed the connection';
      return { kind: 'unconfirmed', error: `${this.isExpired ? silence : closed} after the message` };
    }
    return this.isExpired ? { kind: 'deferred', error: silence } : resultOfFault(fault, recipients);
  }

  abort(): void {
    this.#abort.abort();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #limit(ms: number): void {
    clearTimeout(this.#timer);
    this.#limitMs = ms;
    this.#timer = this.#start(ms);
  }

  #start(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.isExpired = true;
      this.abort();
    }, ms);
  }
}
