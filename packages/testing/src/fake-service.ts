import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen } from './listening-server.ts';
import type { ListeningServer } from './listening-server.ts';
import { waitFor } from './wait-for.ts';

/** Answers one request in place of the service. */
export type ServiceReaction = (response: ServerResponse) => void;

/** The region and the credentials of the AWS SDK. The fakes accept any. The SDK ignores an empty variable. */
export const AWS_ENVIRONMENT = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'AKIAFAKE',
  AWS_SECRET_ACCESS_KEY: 'fake',
  AWS_SESSION_TOKEN: '',
  AWS_PROFILE: '',
};

/** An answer of a proxy, or of another server. */
export function servicePage(status: number, body = '<html>who are you?</html>'): ServiceReaction {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html' });
    response.end(body);
  };
}

/** Takes the request and never answers. */
export const serviceHang: ServiceReaction = () => undefined;

/** Ends the connection instead of an answer. */
export const serviceDrop: ServiceReaction = (response) => void response.socket?.destroy();

/** An HTTP server on loopback that answers whole requests. It ignores a request that breaks off. */
export async function startFakeService(
  answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => void | Promise<void>,
): Promise<ListeningServer> {
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    answer(request, Buffer.concat((await request.toArray()) as Buffer[]), response);
  const server = createServer((request, response) => {
    receive(request, response).catch(() => request.socket.destroy());
  });
  server.keepAliveTimeout = 0;
  return listen(server);
}

/** Waits until `count` requests of an operation have arrived since the start. */
export function requestsOf<Request extends { readonly operation: string }>(
  requests: readonly Request[],
  operation: Request['operation'],
  count: number,
  withinMs = 60_000,
): Promise<Request[]> {
  return waitFor(
    () => {
      const found = requests.filter((request) => request.operation === operation);
      return found.length >= count ? found : null;
    },
    { what: `${count} ${operation} requests`, timeoutMs: withinMs },
  );
}
