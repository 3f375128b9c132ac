import { Agent, request } from 'node:https';
import got from 'got';
import { Client } from 'undici';

/** The HTTP clients of bare posts. */
export const BARE_CLIENTS = ['got', 'https.request', 'undici.dispatch'] as const;
export type BareClientName = (typeof BARE_CLIENTS)[number];

/** Posts one body and waits for the whole answer. @throws when the status is not 200 */
export type BarePost = (url: string, body: Buffer, headers: Record<string, string>) => Promise<void>;

const JSON_BODY = { 'content-type': 'application/json' };

/** Lean clients: kept TLS connections, options merged once, no redirects, no retries. */
export const bareClients: Record<BareClientName, () => BarePost> = {
  got() {
    const client = got.extend({
      agent: { https: new Agent({ keepAlive: true }) },
      retry: { limit: 0 },
      followRedirect: false,
      decompress: false,
      headers: { ...JSON_BODY, 'accept-encoding': undefined },
    });
    return async (url, body, headers) => {
      await client.post(url, { body, headers });
    };
  },

  'https.request'() {
    const agent = new Agent({ keepAlive: true });
    return (url, body, headers) =>
      new Promise((resolve, reject) => {
        request(url, {
          agent,
          method: 'POST',
          headers: { ...JSON_BODY, ...headers, 'content-length': body.length },
        })
          .once('error', reject)
          .once('response', (response) => {
            response.once('error', reject).once('end', () => settle(response.statusCode, resolve, reject));
            response.resume();
          })
          .end(body);
      });
  },

  /** A `Client` is one connection. The connection that was freed last is used first. */
  'undici.dispatch'() {
    const idle: Client[] = [];
    return (url, body, headers) =>
      new Promise((resolve, reject) => {
        const { origin, pathname } = new URL(url);
        const client = idle.pop() ?? new Client(origin);
        let status = 0;
        client.dispatch(
          { method: 'POST', path: pathname, body, headers: { ...JSON_BODY, ...headers } },
          {
            onRequestStart: () => undefined,
            onResponseStart: (_controller, statusCode) => {
              status = statusCode;
            },
            onResponseData: () => undefined,
            onResponseEnd: () => {
              idle.push(client);
              settle(status, resolve, reject);
            },
            onResponseError: (_controller, error) => reject(error),
          },
        );
      });
  },
};

function settle(status: number | undefined, resolve: () => void, reject: (error: Error) => void): void {
  if (status === 200) resolve();
  else reject(new Error(`a bare post was answered ${status}`));
}
