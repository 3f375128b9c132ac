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
  readonly connectionsMax: number;
}

/**
 * Sends mail to an SMTP server over pooled connections.
 *
 * A message counts as accepted when the server accepts it for at least one recipient. Each recipient that the
 * server rejects (5xx) or defers (4xx) is in the result. The server sends no later report about it.
 *
 * A server on another machine must offer TLS, unless `allowPlaintext` is true. If it does not, the message is
 * deferred before login and mail.
 */
export function createSmtpTransport(options: SmtpOptions): MailTransport {
  const server = requireTls(options);
  const stopped = new AbortController();
  const slots = new Semaphore(options.connectionsMax, stopped.signal);
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
              // Closes this connection and the other free ones: the server may be gone for all.
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

/** localhost, 127.0.0.0/8 and ::1, as a URL writes them. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

/**
 * Requires TLS of a server on another machine, and of every server behind a proxy. It removes `requireTLS`
 * and `secured` from the URL's query: nodemailer would prefer them. `secured` says that the connection
 * through a proxy has TLS already.
 */
function requireTls({ url, allowPlaintext = false }: SmtpOptions): { url: string; requireTLS?: true } {
  const parsed = new URL(url);
  const isLoopback = LOOPBACK.test(parsed.hostname) && !parsed.searchParams.has('proxy');
  if (allowPlaintext || isLoopback) return { url };
  parsed.searchParams.delete('requireTLS');
  parsed.searchParams.delete('secured');
  return { url: parsed.href, requireTLS: true };
}
