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
  /** True: logins and mail may go unencrypted to another machine if its server offers no TLS. */
  readonly allowPlaintext?: boolean;
  /** Limits one attempt. It includes the wait for a free connection. */
  readonly timeoutMs: number;
  /** Connection limit. Further attempts wait for a free connection. */
  readonly connectionsMax?: number;
}

const CONNECTIONS_MAX = 16;
/** The longest time that a closed connection stays half open. */
const SOCKET_CLOSE_TIMEOUT_MS = 1000;

/**
 * Sends mail to an SMTP server over pooled connections.
 *
 * A message counts as accepted when the server accepts it for at least one recipient. Each recipient that the
 * server rejects is reported at once as bounced (5xx) or soft-bounced (4xx). No later report would name it.
 *
 * A server on another machine must offer TLS. If it does not, the message is deferred before login and mail.
 */
export function createSmtpTransport(options: SmtpOptions): MailTransport {
  const { timeoutMs, connectionsMax = CONNECTIONS_MAX } = options;
  const transport = createTransport({
    ...requireTls(options),
    pool: true,
    maxConnections: connectionsMax,
    maxRequeues: 1, // the server may have closed a pooled connection; after one retry our schedule decides
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
      // Every byte from the server restarts nodemailer's own time limits. This one always ends.
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

/** Removes the TLS options in the URL's query: nodemailer would prefer them to ours. */
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
    // The server learns the size first (RFC 1870). It can refuse a message that is too large before it is
    // sent.
    envelope: { from: envelope.from, to: [...envelope.to], size: bytes.length },
    raw: bytes,
    signal,
  };
  const sent = await transport.sendMail(mail);
  return {
    kind: 'accepted',
    providerMessageId: null, // SMTP has no such id: the server's reply is free text
    notifications: notificationsOfRejected(sent.rejectedErrors ?? []),
  };
}
