import { parseEvent, SignatureVerificationError } from '@postrider/receiver/web';

const handled = new Set(); // yours: a table with a unique column, which also survives a restart

/** Cloudflare Workers pass `env`. Bun and Deno pass something else: they have `process.env` (Deno: --allow-env). */
const secretOf = (env) => env?.POSTRIDER_WEBHOOK_SECRET ?? globalThis.process?.env.POSTRIDER_WEBHOOK_SECRET;

const BODY_BYTES_MAX = 1_048_576; // no event is larger

/** The bytes as received: the signature covers them. Null: the body is too large, and the rest stays unread. */
async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return new Blob(chunks).arrayBuffer();
}

/** For every runtime with `fetch` and Web Crypto. */
export default {
  async fetch(request, env) {
    if (request.method !== 'POST') return new Response('POST an event', { status: 405 });
    const header = request.headers.get('service-signature');
    if (header === null) return new Response('no-header', { status: 400 }); // before anything is read
    const body = await bodyOf(request);
    if (body === null) return new Response('the body is too large', { status: 413 });
    let event;
    try {
      event = await parseEvent({
        header,
        body,
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
