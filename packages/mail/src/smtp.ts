import { Semaphore } from '@postrider/limits';
import { withComposed } from './compose.ts';
import type { MailTransport } from './mail-provider.ts';
import { SmtpConnection } from './smtp-connection.ts';
import type { SmtpTimeouts } from './smtp-connection.ts';

export interface SmtpOptions extends SmtpTimeouts {
  /** `smtp://user:password@host:587` or `smtps://…`, with options in its query as nodemailer reads them. */
  readonly url: string;
  /** True: logins and mail may go unencrypted to another machine if its server offers no TLS. */
  readonly allowPlaintext?: boolean;
  /** Connection limit. Further attempts wait for a connection. Their time limits start after the wait. */
  readonly connectionsMax?: number | undefined;
}

const CONNECTIONS_MAX = 16;

/**
 * Sends mail to an SMTP server over pooled connections.
 *
 * A message counts as accepted when the server accepts it for at least one recipient. Each recipient that the
 * server rejects (5xx) or defers (4xx) is reported at once. No later report would name it.
 *
 * A server on another machine must offer TLS. If it does not, the message is deferred before login and mail.
 */
export function createSmtpTransport(options: SmtpOptions): MailTransport {
  const server = requireTls(options);
  const stopped = new AbortController();
  const slots = new Semaphore(options.connectionsMax ?? CONNECTIONS_MAX, stopped.signal);
  const connections = new Set<SmtpConnection>();
  const free: SmtpConnection[] = [];

  function open(): SmtpConnection {
    const connection = new SmtpConnection(server, options);
    connections.add(connection);
    return connection;
  }

  function close(connection: SmtpConnection): void {
    connections.delete(connection);
    connection.close();
  }

  return {
    send: (message) =>
      withComposed(message, (composed) =>
        slots.run(
          async () => {
            // The last one used is the least likely to be closed by the server.
            const connection = free.pop() ?? open();
            try {
              return await connection.send(composed);
            } finally {
              free.push(connection);
              // The server may be gone for the others, too.
              if (connection.isStuck) free.splice(0).forEach(close);
            }
          },
          async () => ({ kind: 'deferred', error: 'no connection to the mail server' }),
        ),
      ),
    close() {
      stopped.abort();
      connections.forEach(close);
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
