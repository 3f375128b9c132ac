import { parseEvent, SignatureVerificationError } from '@postrider/receiver/web';

const handled = new Set(); // yours: a table with a unique column, which also survives a restart

/** Cloudflare Workers pass `env`. Bun and Deno pass something else: they have `process.env` (Deno: --allow-env). */
const secretOf = (env) => env?.POSTRIDER_WEBHOOK_SECRET ?? globalThis.process?.env.POSTRIDER_WEBHOOK_SECRET;

/** For every runtime with `fetch` and Web Crypto. */
export default {
  async fetch(request, env) {
    if (request.method !== 'POST') return new Response('POST an event', { status: 405 });
    let event;
    try {
      event = await parseEvent({
        header: request.headers.get('service-signature'),
        body: await request.arrayBuffer(), // the bytes as received: the signature covers them
        secret: secretOf(env), // whsec_…, whole
      });
    } catch (error) {
      if (!(error instanceof SignatureVerificationError)) throw error;
      return new Response(error.reason, { status: 400 });
    }
    if (!handled.has(event.id)) {
      console.log(event.type, event.id); // yours: add a job to your queue, and work later
      handled.add(event.id); // last: if the line above throws, the retry does the work
    }
    return new Response(null, { status: 204 });
  },
};
