import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface BareSmtpCommands extends Record<string, (argument: never) => unknown> {
  /** Starts the server, without a delay. @returns the port on 127.0.0.1 */
  readonly listen: (argument: null) => Promise<number>;
  /** Sets the time before each answer to a message. */
  readonly setLatency: (latencyMs: number) => void;
}

/** The yardstick: smtp-server discards every message and answers 250, at once or after a delay. */
export function bareSmtpCommands(): BareSmtpCommands {
  let latencyMs = 0;
  return {
    async listen() {
      const server = new SMTPServer({
        authOptional: true,
        disabledCommands: ['AUTH', 'STARTTLS'],
        disableReverseLookup: true,
        logger: false,
        onData(stream, _session, done) {
          stream.resume();
          stream.once('end', () => {
            if (latencyMs === 0) done();
            else setTimeout(done, latencyMs);
          });
        },
      });
      server.on('error', () => undefined); // a client has disconnected
      server.listen(0, '127.0.0.1');
      await once(server.server, 'listening');
      return (server.server.address() as AddressInfo).port;
    },
    setLatency(ms) {
      latencyMs = ms;
    },
  };
}
