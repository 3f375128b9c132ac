/** Serves an example that exports a handler for `fetch`: `node on-node.mjs ./hono.mjs`. */
import { serve } from '@hono/node-server';

const { default: app } = await import(process.argv[2] ?? './hono.mjs');
const options = {
  fetch: (request) => app.fetch(request, process.env),
  port: Number(process.env.PORT ?? 3000),
};
serve(options, ({ port }) => console.log(`http://localhost:${port}/hooks`));
