import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { SMTPServer, SMTPServerAddress } from 'smtp-server';
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { InboundLimits } from './limits.ts';
import { SmtpParser } from './smtp-parser.ts';
import { Refusal, type RefusalReason } from './refusal.ts';

type ParsedAddress = SMTPServerAddress & { duplicate?: string | undefined };

export interface SessionRules {
  readonly limits: InboundLimits;
  /** Called for each answer of 4xx and 5xx that was sent. */
  readonly onRefusal: (code: number, reason: RefusalReason) => void;
}

/**
 * One connection. smtp-server speaks the protocol; every answer passes `send`, where this class counts and bounds what
 * smtp-server does not: errors, commands, and the time for one whole command, however slowly its bytes come.
 */
export class Session extends SMTPConnection {
  /** MAIL commands that were taken. */
  mailCommands = 0;
  /** RCPT commands of this message that were taken. Over LMTP each is owed an answer, a repeated one, too. */
  recipientsTaken = 0;
  readonly #rules: SessionRules;
  #deadline: NodeJS.Timeout | undefined;
  /** The intake is at work, or a message comes in. */
  #busy = false;
  #stopping = false;
  #errors = 0;
  #commands = 0;
  /** What the next answers are sent for. */
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

  /** What follows is our time, or the message's, and not the client's time for a command. Ended by the answer. */
  pauseCommandTimeout(): void {
    this.#busy = true;
    clearTimeout(this.#deadline);
  }

  /** Says what the next answer is sent for, or the next `answers`; smtp-server knows no more than code and words. */
  refuse(refusal: Refusal, answers = 1): Refusal {
    this.#refusal = { refusal, answers };
    return refusal;
  }

  /** Ends the session with 421: at once when it waits for a command, else with the answer that it owes. */
  stop(): void {
    this.#stopping = true;
    if (!this.#busy) this.#end(new Refusal(421, 'stopping', 'The server is shutting down'));
  }

  /** To be called when the socket is closed. */
  dispose(): void {
    clearTimeout(this.#deadline);
  }

  override send(code: number, words?: string | string[] | null, context?: string | false): void {
    const isSent = !this._closing && !this._closed;
    const refusal = this.#takeRefusal();
    super.send(code, words, refusal?.context ?? context);
    if (!isSent) return;
    if (code >= 400) this.#rules.onRefusal(code, refusal?.reason ?? this.#reasonOf(code));
    // The message comes next. Its deadline is set already.
    if (code === 354) return;
    this.#busy = false;
    this.#count(code, context);
    if (!this._closing) this.#awaitCommand();
  }

  /** Called by the constructor of the base class: no field of this class is there yet. */
  override _createParser(): SmtpParser {
    const parser = new SmtpParser({ maxCommandLength: this._server.options.maxCommandLength });
    parser.oncommand = (command: Buffer, callback?: () => void) => this._onCommand(command, callback);
    parser.on('error', (error) => this.send(421, `Error: ${error.message}`));
    return parser;
  }

  override _parseAddressCommand(name: string, command: Buffer | string): ParsedAddress | false {
    const parsed = super._parseAddressCommand(name, command);
    if (parsed === false) return false;
    return { ...parsed, address: addressAsWritten(command.toString()) ?? parsed.address };
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
    // 452 is for recipients beyond the limit. They come again with the next message.
    if (code >= 400 && code !== 452) this.#errors += 1;
    this.#commands = context === 'DATA_OK' ? 0 : this.#commands + 1;
    if (this._closing) return;
    if (this.#errors >= errorsPerSessionMax)
      this.#end(new Refusal(421, 'too_many_errors', 'Too many errors'));
    else if (this.#commands >= commandsPerMessageMax)
      this.#end(new Refusal(421, 'too_many_commands', 'Too many commands without a message'));
  }

  #awaitCommand(): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(
      () => this.#end(new Refusal(421, 'command_timeout', 'Timeout, closing connection')),
      this.#rules.limits.commandTimeoutMs,
    );
    // Not at once: over LMTP the answers for the other recipients come first.
    if (this.#stopping) setImmediate(() => this.stop());
  }

  #end(refusal: Refusal): void {
    if (this._closing || this._closed) return;
    this.refuse(refusal);
    this.send(refusal.responseCode, refusal.message);
  }
}

/**
 * The address of a MAIL or RCPT command as the client wrote it, between the angle brackets and without a source route
 * (RFC 5321, appendix C: to be ignored). smtp-server turns the domain into Unicode, which is not always the way back.
 * Only for a command that smtp-server has taken: a quoted `>` does not pass it.
 */
export function addressAsWritten(command: string): string | null {
  const path = /<([^<>]*)>/.exec(command)?.[1];
  return path?.replace(/^@[^:]*:/, '') ?? null;
}
