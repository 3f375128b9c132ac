import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Agent } from 'node:https';
import type { Socket } from 'node:net';
import { createStrictGot } from '../strict-got.ts';
import type { Transport } from './transport.ts';

/** got, which also fetches what SNS names. Here it is the client to step back to. */
export function createGotTransport(agent: Agent): Transport {
  const http = createStrictGot({ agent });
  return {
    post({ url, headers, body }, listener) {
      let native: ClientRequest | undefined;
      const stream = http.stream.post(url, { body, headers });
      stream.once('error', (error: Error) => {
        const cause = error.cause ?? error;
        if (native === undefined) listener.onUnsendable(cause);
        else listener.onError(cause);
      });
      stream.on('error', () => undefined);
      stream.once('request', (made: ClientRequest) => {
        native = made;
        // got listens for one error; a connection that breaks in two ways would end the process.
        made.on('error', () => undefined);
        made.once('socket', (socket: Socket) => listener.onSocket(socket));
      });
      stream.on('information', () => listener.onInterimHead());
      stream.once('upgrade', (response: IncomingMessage) => listener.onHead(response.statusCode ?? 101));
      stream.once('response', (response: IncomingMessage) => {
        listener.onHead(response.statusCode ?? 0);
        stream.on('data', (chunk: Buffer) => listener.onBody(chunk));
        stream.once('end', () => listener.onEnd());
        stream.once('close', () => listener.onEnd());
      });
      return { isSent: () => native?.writableFinished !== false, cut: () => void stream.destroy() };
    },
  };
}
