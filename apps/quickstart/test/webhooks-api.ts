import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '@postrider/testing';

const SECRET = 'whsec_test';

/** The API's routes for webhooks. `requests` lists each request, also one to another route, which gets a 404. */
export async function startWebhooksApi() {
  const webhooks = new Map<string, { id: string; endpoint: string }>();
  const requests: string[] = [];
  const answer = (route: string, body: string): unknown => {
    const [, id] = /^DELETE \/v1\/webhooks\/(.+)$/.exec(route) ?? [];
    if (id !== undefined) return webhooks.delete(id) ? {} : null;
    if (route === 'GET /v1/webhooks') return { data: [...webhooks.values()] };
    if (route !== 'POST /v1/webhooks') return null;
    const made = { id: `wh_${requests.length}`, ...(JSON.parse(body) as { endpoint: string }) };
    webhooks.set(made.id, made);
    return { ...made, signing_secret: SECRET };
  };
  const server = createServer((request, response) => {
    const route = `${request.method} ${request.url}`;
    requests.push(route);
    void text(request).then((body) => {
      const result = answer(route, body);
      response.writeHead(result === null ? 404 : 200).end(JSON.stringify(result));
    });
  });
  const { port, close } = await listen(server);
  return { url: `http://127.0.0.1:${port}`, webhooks, requests, close };
}
