import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext, type TLSSocket } from 'node:tls';
import type { Clock } from '@postrider/domain';
import { ByteBudget, within } from '@postrider/limits';
import { errorCode, type Logger, systemClock } from '@postrider/runtime';
import { SMTPServer } from 'smtp-server';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { MessageSink } from '../pipeline/message-sink.ts';
import { DEFAULT_LIMITS, type InboundLimits } from './limits.ts';
import { receiveMessage } from './receive-message.ts';
import { Refusal, type RefusalReason } from './refusal.ts';
import { Session } from './session.ts';
import { clientOf, SessionLimits } from './session-limits.ts';

/** PEM, in the form that `tls.createServer` takes. */
export interface InboundTls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface InboundServerOptions {
  readonly host: string;
  /** With 0 the system picks a free port. `port()` returns it. */
  readonly port: number;
  readonly protocol: 'smtp' | 'lmtp';
  /** Our host name, for the greeting and for `Received:`. */
  readonly hostname: string;
  /** Null: the server offers no STARTTLS. */
  readonly tls: InboundTls | null;
  readonly sink: MessageSink;
  readonly logger: Logger;
  /** The source of the date in `Received:`. Default: the machine's clock. */
  readonly clock?: Clock;
  /** Missing properties get their default. */
  readonly limits?: Partial<InboundLimits>;
  /** Called with the number of open sessions whenever it changes. */
  readonly onSession?: (open: number) => void;
  /** Called for each 4xx or 5xx answer. */
  readonly onRefusal?: (code: number, reason: RefusalReason) => void;
}

/**
 * We refuse the joke commands of smtp-server (WIZ, SHELL, KILL) and the login. XCLIENT and XFORWARD are
 * refused because they let a client claim another address.
 */
const NEVER_OFFERED = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'];
const TLS_VERSION_MIN = 'TLSv1.2';
const STOP_DEFAULT_MS = 10_000;

/** An SMTP or LMTP server. It opens nothing before `start`. */
export class InboundServer {
  readonly #options: InboundServerOptions;
  readonly #limits: InboundLimits;
  readonly #sessionLimits: SessionLimits;
  readonly #budget: ByteBudget;
  readonly #server: SessionServer;
  /**
   * The key is the session object that smtp-server gives to its handlers. A session stays here, and counts,
   * until its socket closes.
   */
  readonly #sessions = new Map<SMTPServerSession, Session>();

  /** @throws Error when the certificate is unusable */
  constructor(options: InboundServerOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#sessionLimits = new SessionLimits(this.#limits.sessionsMax, this.#limits.sessionsPerClientMin);
    this.#budget = new ByteBudget({
      bytesMax: this.#limits.bytesInFlightMax,
      smallBytes: this.#limits.smallMessageBytes,
    });
    this.#server = this.#createServer();
    this.setTls(options.tls);
  }

  /** Resolves when the server listens; rejects when the address is taken. */
  async start(): Promise<void> {
    const { host, port, protocol, logger } = this.#options;
    this.#server.listen(port, host);
    await once(this.#server.server, 'listening');
    logger.info('inbound server listens', { host, port: this.port(), protocol });
  }

  /**
   * Takes no new session and no new message. Resolves when the messages in flight are answered, or after
   * `remainingMs`. A client without an answer by then gets 421, and sends the message again.
   */
  async stop(remainingMs = STOP_DEFAULT_MS): Promise<void> {
    if (!this.#server.server.listening) return;
    // 0 would mean the default of smtp-server, 30 s.
    this.#server.options.closeTimeout = Math.max(1, remainingMs);
    const closed = new Promise<void>((resolve) => this.#server.close(resolve));
    for (const session of this.#sessions.values()) session.stop();
    await closed;
  }

  /** @throws Error before `start` and after `stop` */
  port(): number {
    const address = this.#server.server.address() as AddressInfo | null;
    if (address === null) throw new Error('the inbound server does not listen');
    return address.port;
  }

  /**
   * Sets the certificate for the next handshakes. Null ends the offer of STARTTLS.
   * @throws Error when the certificate is unusable or does not match the key. The previous one stays in use.
   */
  setTls(tls: InboundTls | null): void {
    const { options } = this.#server;
    if (tls === null) {
      options.disabledCommands = [...NEVER_OFFERED, 'STARTTLS'];
      return;
    }
    const { cert, key } = tls;
    // Checked first, because smtp-server stores even an unusable certificate.
    createSecureContext({ cert, key, minVersion: TLS_VERSION_MIN });
    this.#server.updateSecureContext({ cert, key, minVersion: TLS_VERSION_MIN });
    options.disabledCommands = [...NEVER_OFFERED];
  }

  #createServer(): SessionServer {
    const limits = this.#limits;
    const server = new SessionServer(
      {
        name: this.#options.hostname,
        lmtp: this.#options.protocol === 'lmtp',
        heloResponse: '%s', // only our host name, without the library's greeting
        authOptional: true,
        // Some providers have users with addresses such as `a..b@` and `a.@`. Some domains have underscores.
        lenientAddressParsing: true,
        disabledCommands: [...NEVER_OFFERED, 'STARTTLS'],
        hideENHANCEDSTATUSCODES: false,
        // We use no reverse DNS name: the client controls it.
        disableReverseLookup: true,
        // The log of smtp-server would hold commands and addresses.
        logger: false,
        size: limits.messageBytesMax,
        maxRecipients: limits.recipientsMax,
        maxCommandLength: limits.commandLineBytesMax,
        // Every received byte restarts this timer. The deadlines of the session fire earlier.
        socketTimeout: limits.commandTimeoutMs + limits.dataTimeoutMs,
        onMailFrom: (address, session, done) => this.#onMailFrom(address, session, done),
        onRcptTo: (address, session, done) => void this.#onRcptTo(address, session).then(done),
        onData: (stream, session, done) => void this.#onData(stream, session, done),
        onClose: (session) => this.#onClose(session),
      },
      (socket, socketOptions) => this.#openSession(socket, socketOptions),
    );
    server.on('error', (error) =>
      this.#options.logger.debug('inbound connection failed', { code: errorCode(error) }),
    );
    return server;
  }

  /** @returns null when the client has left or was rejected */
  #openSession(socket: Socket | TLSSocket, socketOptions: SMTPConnectionOptions): Session | null {
    // smtp-server starts a session one iteration of the event loop later. It would not notice a close in
    // between.
    if (socket.destroyed) return null;
    const onRefusal = (code: number, reason: RefusalReason) => this.#options.onRefusal?.(code, reason);
    const session: Session = new Session(this.#server, socket, socketOptions, {
      limits: this.#limits,
      onRefusal,
      onUnreadable: (error) =>
        this.#options.logger.debug('inbound session not readable', { session_id: session.id, error }),
    });
    const limit = this.#sessionLimits.enter(this.#clientOf(session), () => this.#endLongestWaiting());
    if (limit !== null) {
      onRefusal(421, limit);
      rejectConnection(socket, this.#options.hostname);
      return null;
    }
    this.#sessions.set(session.session, session);
    this.#options.onSession?.(this.#sessionLimits.open);
    return session;
  }

  /**
   * Ends the session that has waited longest for a command. Otherwise 200 idle sessions of a few clients
   * would stop all mail.
   *
   * @returns false when no session waits for a command
   */
  #endLongestWaiting(): boolean {
    const [longest] = [...this.#sessions.values()]
      .filter((session) => session.isWaiting)
      .toSorted((a, b) => a.waitsSinceMs - b.waitsSinceMs);
    longest?.endForAnother();
    return longest !== undefined;
  }

  #onClose(session: SMTPServerSession): void {
    const closed = this.#session(session);
    closed.dispose();
    this.#sessions.delete(session);
    this.#sessionLimits.leave(this.#clientOf(closed));
    this.#options.onSession?.(this.#sessionLimits.open);
  }

  #onMailFrom(
    address: SMTPServerAddress,
    smtpSession: SMTPServerSession,
    done: (error?: Error) => void,
  ): void {
    const session = this.#session(smtpSession);
    session.mailCommands += 1;
    session.recipientsTaken = 0;
    const declared = Number(address.args === false ? 0 : (address.args['SIZE'] ?? 0));
    if (session.mailCommands > this.#limits.messagesPerSessionMax) {
      const words = 'Too many messages in one session';
      done(session.refuse(new Refusal(421, 'messages_per_session', words)));
    } else if (!this.#budget.hasSpace(this.#clientOf(smtpSession), declared)) {
      done(session.refuse(new Refusal(451, 'memory', 'Too much mail at a time, try again later')));
    } else done();
  }

  /** @returns the answer that replaces 250; undefined for 250 */
  async #onRcptTo(
    { address }: SMTPServerAddress,
    smtpSession: SMTPServerSession,
  ): Promise<Refusal | undefined> {
    const session = this.#session(smtpSession);
    session.pauseCommandTimeout();
    const isAccepted = await this.#accepts(address, smtpSession);
    if (isAccepted === null)
      return session.refuse(new Refusal(451, 'unavailable', 'Recipient not checked, try again later'));
    if (!isAccepted) return session.refuse(new Refusal(550, 'unknown_recipient', 'No such mailbox here'));
    session.recipientsTaken += 1;
    return undefined;
  }

  /** @returns null when the sink cannot tell in time */
  async #accepts(recipient: string, { id, remoteAddress }: SMTPServerSession): Promise<boolean | null> {
    const { sink, logger } = this.#options;
    const { acceptsTimeoutMs } = this.#limits;
    const notJudged = (error: unknown): null => {
      logger.warn('recipient not judged', { session_id: id, client_address: remoteAddress, error });
      return null;
    };
    const late = () => notJudged(new Error(`no answer within ${acceptsTimeoutMs} ms`));
    try {
      return await within<boolean | null>(async () => sink.accepts(recipient), acceptsTimeoutMs, late);
    } catch (error) {
      return notJudged(error);
    }
  }

  async #onData(
    stream: SMTPServerDataStream,
    smtpSession: SMTPServerSession,
    done: (error: Error | null, answer?: string | (string | Error)[]) => void,
  ): Promise<void> {
    const { sink, hostname, logger, protocol, clock = systemClock } = this.#options;
    const session = this.#session(smtpSession);
    session.pauseCommandTimeout();
    const client = this.#clientOf(smtpSession);
    const bytes = this.#budget.open(client);
    const receiving = { sink, hostname, logger, clock, client, bytes, limits: this.#limits };
    const outcome = await receiveMessage(receiving, stream, smtpSession);
    if (outcome === null) return;
    // LMTP wants one answer for each recipient (RFC 2033 4.2).
    const answers = protocol === 'lmtp' ? session.recipientsTaken : 1;
    const answer = outcome instanceof Refusal ? session.refuse(outcome, answers) : outcome;
    if (protocol === 'lmtp') done(null, Array<string | Error>(answers).fill(answer));
    else if (answer instanceof Refusal) done(answer);
    else done(null, answer);
  }

  #clientOf(session: Pick<SMTPServerSession, 'id' | 'remoteAddress'>): string {
    return clientOf(session, this.#options.protocol);
  }

  #session(session: SMTPServerSession): Session {
    const found = this.#sessions.get(session);
    if (found === undefined) throw new Error('a session that was not opened here');
    return found;
  }
}

/**
 * Rejects at once. smtp-server would wait before its greeting, and a client over the limit would hold a
 * socket meanwhile.
 */
function rejectConnection(socket: Socket, hostname: string): void {
  socket.on('error', () => undefined);
  socket.write(`421 ${hostname} Too many sessions, try again later\r\n`);
  socket.destroySoon();
}

type OpenSession = (socket: Socket | TLSSocket, options: SMTPConnectionOptions) => Session | null;

/** The server of smtp-server, with our own sessions. */
class SessionServer extends SMTPServer {
  readonly #open: OpenSession;

  constructor(options: ConstructorParameters<typeof SMTPServer>[0], open: OpenSession) {
    super(options);
    this.#open = open;
  }

  override connect(socket: Socket | TLSSocket, options?: SMTPConnectionOptions | null): void {
    const session = this.#open(socket, options ?? {});
    if (session === null) return;
    this.connections.add(session);
    session.on('error', (error: Error) => this._onError(error));
    session.init();
    // The server began to close after it had accepted the socket.
    if (this._closeTimeout !== false) session.stop();
  }
}
