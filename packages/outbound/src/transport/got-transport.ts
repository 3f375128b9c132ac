import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Agent } from 'node:https';
import type { Socket } from 'node:net';
import { createStrictGot } from '../strict-got.ts';
import { headFault, LENIENT_PARSER } from './transport.ts';
import type { Transport } from './transport.ts';

/**
 * The second client: `DELIVERY_HTTP_CLIENT=got` selects it when Node's own client has a fault (decision
 * 0018).
 */
export function createGotTransport(agent: Agent): Transport {
  const http = createStrictGot({ agent }).extend({
    request: (url, options, callback) => request(url, { ...options, ...LENIENT_PARSER }, callback),
  });
  return {
    post({ url, headers, body }, listener) {
      let native: ClientRequest | undefined;
      const stream = http.stream.post(url, { headers });
      // Written here, not by the option `body`: with that, got cuts the connection when the answer comes
      // before the write has ended.
      stream.end(body);
      stream.once('error', (error: Error) => {
        const cause = causeOf(error, native);
        if (native === undefined) listener.onUnsendable(cause);
        else listener.onError(cause);
      });
      // Node ends the process on an error without a listener, so this one stays.
      stream.on('error', () => undefined);
      stream.once('request', (made: ClientRequest) => {
        native = made;
        // got listens for one error only, so this one stays.
        made.on('error', () => undefined);
        made.once('socket', (socket: Socket) => listener.onSocket(socket));
      });
      stream.on('information', () => listener.onInterimHead());
      stream.once('upgrade', (response: IncomingMessage) => listener.onHead(response.statusCode ?? 101));
      stream.once('response', (response: IncomingMessage) => {
        const fault = headFault(response);
        if (fault !== null) {
          listener.onError(fault);
          return void stream.destroy();
        }
        listener.onHead(response.statusCode ?? 0);
        stream.on('data', (chunk: Buffer) => listener.onBody(chunk));
        stream.once('end', () => listener.onEnd());
        // The body also ends when we cut the connection, or when it breaks: then there is no `end`.
        stream.once('close', () => {
          if (!stream.readableEnded) listener.onEnd();
        });
      });
      return { isSent: () => native?.writableFinished === true, cut: () => void stream.destroy() };
    },
  };
}

/** Node 24 may report a write to a closed socket first. The real reason is then in the socket. */
function causeOf(error: NodeJS.ErrnoException, native: ClientRequest | undefined): unknown {
  const socketError = error.code === 'ERR_SOCKET_CLOSED' ? native?.socket?.errored : null;
  return socketError ?? error.cause ?? error;
}
