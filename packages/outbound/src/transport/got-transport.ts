import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Agent } from 'node:https';
import type { Socket } from 'node:net';
import { createStrictGot } from '../strict-got.ts';
import { headFault, LENIENT_PARSER } from './transport.ts';
import type { Transport } from './transport.ts';

/** The fallback client. got also fetches SNS's certificates. */
export function createGotTransport(agent: Agent): Transport {
  const http = createStrictGot({ agent }).extend({
    request: (url, options, callback) => request(url, { ...options, ...LENIENT_PARSER }, callback),
  });
  return {
    post({ url, headers, body }, listener) {
      let native: ClientRequest | undefined;
      const stream = http.stream.post(url, { headers });
      // got cuts the connection when the answer overtakes the write of its own `body` option.
      stream.end(body);
      stream.once('error', (error: Error) => {
        const cause = causeOf(error, native);
        if (native === undefined) listener.onUnsendable(cause);
        else listener.onError(cause);
      });
      stream.on('error', () => undefined);
      stream.once('request', (made: ClientRequest) => {
        native = made;
        // got listens for one error only. A second error would end the process.
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
        // Also after a cut, and after the connection broke.
        stream.once('close', () => {
          if (!stream.readableEnded) listener.onEnd();
        });
      });
      return { isSent: () => native?.writableFinished !== false, cut: () => void stream.destroy() };
    },
  };
}

/** Node 24 may report the write to a closed socket first. Then the socket has the error that closed it. */
function causeOf(error: NodeJS.ErrnoException, native: ClientRequest | undefined): unknown {
  const closedBy = error.code === 'ERR_SOCKET_CLOSED' ? native?.socket?.errored : null;
  return closedBy ?? error.cause ?? error;
}
