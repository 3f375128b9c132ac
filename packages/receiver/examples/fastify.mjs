import { fastify } from 'fastify';
import { parseEvent, SignatureVerificationError } from '@postrider/receiver';

const handled = new Set(); // yours: a table with a unique column, which also survives a restart
const app = fastify();

// The signature covers the body as bytes: read it raw, before anything parses it.
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

app.post('/hooks', (request, reply) => {
  let event;
  try {
    event = parseEvent({
      header: request.headers['service-signature'],
      body: request.body ?? '',
      secret: process.env.POSTRIDER_WEBHOOK_SECRET, // whsec_…, whole
    });
  } catch (error) {
    if (!(error instanceof SignatureVerificationError)) throw error;
    return reply.code(400).send(error.reason);
  }
  if (!handled.has(event.id)) {
    console.log(event.type, event.id); // yours: add a job to your queue, and work later
    handled.add(event.id); // last: if the line above throws, the retry does the work
  }
  return reply.code(204).send();
});

await app.listen({ port: Number(process.env.PORT ?? 3000) });
console.log(`http://localhost:${app.server.address().port}/hooks`);
