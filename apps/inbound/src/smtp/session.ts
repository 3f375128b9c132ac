import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { SMTPServer, SMTPServerAddress } from 'smtp-server';
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { InboundLimits } from './limits.ts';
import { SmtpParser } from './smtp-parser.ts';
import { Refusal, type RefusalReason } from './refusal.ts';

/**
 * RFC 5321 4.1.2 allows spaces and at signs in quotes. smtp-server ends an address at a space, and refuses a
 * second at sign.
 */
const QUOTED_LOCAL_PART = /(?<=^[^<"]*<)"(?:[^"\\<>\p{Cc}]|\\[^<>\p{Cc}])+"(?=@)/u;

type ParsedAddress = SMTPServerAddress & { duplicate?: string | undefined };

export interface SessionRules {
  readonly limits: InboundLimits;
  /** Called for each 4xx or 5xx answer that was sent. */
  readonly onRefusal: (code: number, reason: RefusalReason) => void;
  /** Called when the client's bytes cannot be read as commands. The session ends. */
  readonly onUnreadable: (error: Error) => void;
}

/**
 * One connection. smtp-server implements the protocol, and every answer passes through `send`. This class
 * limits what smtp-server does not: the errors, the commands, and the time for one whole command, however
 * slowly its bytes arrive.
 */
export class Session extends SMTPConnection {
  /** MAIL commands so far, for `messagesPerSessionMax`. */
  mailCommands = 0;
  /** Accepted RCPT commands of this message. Over LMTP each of these gets an answer, also a repeated one. */
  recipientsTaken = 0;
  /** The monotonic time of the last answer: since then the session waits for a command. */
  waitsSinceMs = performance.now();
  readonly #rules: SessionRules;
  #deadline: NodeJS.Timeout | undefined;
  /** True while the server checks a recipient, or receives and stores a message. */
  #busy = false;
  #stopping = false;
  #errors = 0;
  #commands = 0;
  /** The reason of the next answers. */
  #refusal: { readonly refusal: Refusal; answers: number } | null = null;

  constructor(
    server: SMTPServer,
    socket: Socket | TLSSocket,
    options: SMTPConnectionOptions,
    rules: SessionRules,
  ) {
    super(server, socket, options);
    this.#rules = rules;
  }

  /**
   * Stops the timer of the next command: now the server works, or the message arrives. The next answer starts
   * the timer again.
   */
  pauseCommandTimeout(): void {
    this.#busy = true;
    clearTimeout(this.#deadline);
  }

  /** Sets the reason of the next answer, or of the next `answers`. smtp-server knows only code and words. */
  refuse(refusal: Refusal, answers = 1): Refusal {
    this.#refusal = { refusal, answers };
    return refusal;
  }

  /**
   * Ends the session with 421. A session that waits for a command ends at once. Otherwise the session sends
   * its outstanding answer first.
   */
  stop(): void {
    this.#stopping = true;
    if (!this.#busy) this.#end(new Refusal(421, 'stopping', 'The server is shutting down'));
  }

  /** True while the client must send a command. */
  get isWaiting(): boolean {
    return !this.#busy && !this._closing && !this._closed;
  }

  /** Ends a waiting session with 421, at once: a new session needs its place. smtp-server would wait 5 s. */
  endForAnother(): void {
    this.#end(new Refusal(421, 'sessions', 'Too many sessions, try again later'));
    this._socket.destroySoon();
  }

  /** Call it when the socket has closed. */
  dispose(): void {
    clearTimeout(this.#deadline);
  }

  override send(code: number, words?: string | string[] | null, context?: string | false): void {
    const isSent = !this._closing && !this._closed;
    const refusal = this.#takeRefusal();
    super.send(code, words, refusal?.context ?? context);
    if (!isSent) return;
    if (code >= 400) this.#rules.onRefusal(code, refusal?.reason ?? this.#reasonOf(code));
    // After 354 the message arrives. It has its own deadline.
    if (code === 354) return;
    this.#busy = false;
    this.#count(code, context);
    if (!this._closing) this.#awaitCommand();
  }

  /** The constructor of the base class calls this before the fields of this class exist. */
  override _createParser(): SmtpParser {
    const parser = new SmtpParser({ maxCommandLength: this._server.options.maxCommandLength });
    parser.oncommand = (command: Buffer, callback?: () => void) => this._onCommand(command, callback);
    parser.on('error', (error: Error) => {
      this.#rules.onUnreadable(error);
      this.send(421, 'Line too long or not readable, closing connection');
    });
    return parser;
  }

  override _parseAddressCommand(name: string, command: Buffer | string): ParsedAddress | false {
    const written = command.toString();
    const parsed = super._parseAddressCommand(name, written.replace(QUOTED_LOCAL_PART, 'quoted'));
    if (parsed === false) return false;
    return { ...parsed, address: addressAsWritten(written) ?? parsed.address };
  }

  #takeRefusal(): Refusal | null {
    const next = this.#refusal;
    if (next === null) return null;
    next.answers -= 1;
    if (next.answers <= 0) this.#refusal = null;
    return next.refusal;
  }

  #reasonOf(code: number): RefusalReason {
    if (this.#stopping) return 'stopping';
    if (code === 452) return 'recipients';
    return code === 552 ? 'size' : 'protocol';
  }

  #count(code: number, context: string | false | undefined): void {
    const { errorsPerSessionMax, commandsPerMessageMax } = this.#rules.limits;
    // 452 refuses recipients beyond the limit. That is no error: the client sends them the message again.
    if (code >= 400 && code !== 452) this.#errors += 1;
    this.#commands = context === 'DATA_OK' ? 0 : this.#commands + 1;
    if (this._closing) return;
    if (this.#errors >= errorsPerSessionMax)
      this.#end(new Refusal(421, 'too_many_errors', 'Too many errors'));
    else if (this.#commands >= commandsPerMessageMax)
      this.#end(new Refusal(421, 'too_many_commands', 'Too many commands without a message'));
  }

  #awaitCommand(): void {
    this.waitsSinceMs = performance.now();
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(
      () => this.#end(new Refusal(421, 'command_timeout', 'Timeout, closing connection')),
      this.#rules.limits.commandTimeoutMs,
    );
    // Waits one iteration: over LMTP the answers for the other recipients go first.
    if (this.#stopping) setImmediate(() => this.stop());
  }

  #end(refusal: Refusal): void {
    if (this._closing || this._closed) return;
    this.refuse(refusal);
    this.send(refusal.responseCode, refusal.message);
  }
}

/**
 * The address of a MAIL or RCPT command as the client wrote it: between the angle brackets, without a source
 * route (RFC 5321, appendix C: ignore it). smtp-server converts the domain to Unicode, and that cannot always
 * be reversed. Use it only for a command that smtp-server accepted: smtp-server refuses a quoted `>`.
 */
export function addressAsWritten(command: string): string | null {
  const path = /<([^<>]*)>/.exec(command)?.[1];
  return path?.replace(/^@[^:]*:/, '') ?? null;
}
