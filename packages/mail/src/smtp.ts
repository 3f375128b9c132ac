import type { ProviderResult } from '@postrider/domain';
import { createTransport } from 'nodemailer';
import type { SendMailOptions } from 'nodemailer';
import type SMTPPool from 'nodemailer/lib/smtp-pool';
import { composeMessage } from './compose.ts';
import type { ComposedMessage } from './compose.ts';
import type { MailTransport } from './mail-provider.ts';
import { resultOfFault, notificationsOfRejected } from './smtp-answer.ts';
import type { SmtpFault } from './smtp-answer.ts';

export interface SmtpOptions {
  /** `smtp://user:password@host:587` or `smtps://…`, with options in its query as nodemailer reads them. */
  readonly url: string;
  /** True: logins and mail may also go to another machine in clear, if its server offers no TLS. */
  readonly allowPlaintext?: boolean;
  /** Time limit of one hand-over, waiting for a free connection included. */
  readonly timeoutMs: number;
  /** Connections kept at most: hand-overs beyond wait for one. */
  readonly connectionsMax?: number;
}

const CONNECTIONS_MAX = 16;
/** How long a connection of ours may stay half-closed. */
const SOCKET_CLOSE_TIMEOUT_MS = 1000;

/**
 * Hands mail to an SMTP server, over connections that are kept and shared.
 *
 * A message is accepted when the server takes it for at least one recipient; each recipient that it turned down
 * at once is reported as bounced (5xx) or soft-bounced (4xx), since no other word of it will come.
 *
 * A server on another machine is spoken to over TLS only: without it, the message is deferred before login and mail.
 */
export function createSmtpTransport(options: SmtpOptions): MailTransport {
  const { timeoutMs, connectionsMax = CONNECTIONS_MAX } = options;
  const transport = createTransport({
    ...requireTls(options),
    pool: true,
    maxConnections: connectionsMax,
    maxRequeues: 1, // a kept connection that the server has ended meanwhile; beyond that, the retry schedule decides
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    socketCloseTimeout: SOCKET_CLOSE_TIMEOUT_MS,
  } as SMTPPool.Options);
  const running = new Set<AbortController>();

  return {
    name: 'smtp',
    async send(message) {
      const composed = await composeMessage(message);
      const abort = new AbortController();
      // The limit that nothing a server sends can outlast: the others are renewed by every byte.
      const timer = setTimeout(() => abort.abort(), timeoutMs);
      running.add(abort);
      try {
        return await sendComposed(transport, composed, abort.signal);
      } catch (error) {
        if (abort.signal.aborted) {
          return { kind: 'deferred', error: `no answer from the mail server within ${timeoutMs} ms` };
        }
        return resultOfFault(error as SmtpFault);
      } finally {
        clearTimeout(timer);
        running.delete(abort);
      }
    },
    close() {
      for (const abort of running) abort.abort();
      transport.close();
      return Promise.resolve();
    },
  };
}

/** 127.0.0.0/8 and ::1, as a URL writes them. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

/** TLS options in the URL's query are ignored. nodemailer would prefer them. */
function requireTls({ url, allowPlaintext = false }: SmtpOptions): { url: string; requireTLS?: true } {
  const parsed = new URL(url);
  if (allowPlaintext || LOOPBACK.test(parsed.hostname)) return { url };
  for (const name of [...parsed.searchParams.keys()])
    if (/^(ignoretls|requiretls|secure)$/i.test(name)) parsed.searchParams.delete(name);
  return { url: parsed.href, requireTLS: true };
}

async function sendComposed(
  transport: ReturnType<typeof createTransport<SMTPPool.SentMessageInfo>>,
  { envelope, bytes }: ComposedMessage,
  signal: AbortSignal,
): Promise<ProviderResult> {
  const mail: SendMailOptions & { signal: AbortSignal; envelope: { size: number } } = {
    // The size is told ahead (RFC 1870): a message too large is refused before it is sent.
    envelope: { from: envelope.from, to: [...envelope.to], size: bytes.length },
    raw: bytes,
    signal,
  };
  const sent = await transport.sendMail(mail);
  return {
    kind: 'accepted',
    providerMessageId: null, // SMTP has none: the server's reply is free text
    notifications: notificationsOfRejected(sent.rejectedErrors ?? []),
  };
}
