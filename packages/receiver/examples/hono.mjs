import { Hono } from 'hono';
import { env } from 'hono/adapter';
import { bodyLimit } from 'hono/body-limit';
import { parseEvent, SignatureVerificationError } from '@postrider/receiver/web';

const handled = new Set(); // yours: a table with a unique column, which also survives a restart
const app = new Hono();

app.post('/hooks', bodyLimit({ maxSize: 1_048_576 }), async (context) => {
  let event;
  try {
    event = await parseEvent({
      header: context.req.header('service-signature'),
      body: await context.req.arrayBuffer(), // the bytes as received: the signature covers them
      secret: env(context).POSTRIDER_WEBHOOK_SECRET, // whsec_…, whole
    });
  } catch (error) {
    if (!(error instanceof SignatureVerificationError)) throw error;
    return context.text(error.reason, 400);
  }
  if (!handled.has(event.id)) {
    console.log(event.type, event.id); // yours: add a job to your queue, and work later
    handled.add(event.id); // last: if the line above throws, the retry does the work
  }
  return context.body(null, 204);
});

export default app; // Cloudflare Workers, Deno and Bun serve it; on Node, @hono/node-server does
