import express from 'express';
import { parseEvent, SignatureVerificationError } from '@postrider/receiver';

const handled = new Set(); // yours: a table with a unique column, which also survives a restart
const app = express();

// The signature covers the body as bytes: read it raw, before anything parses it.
app.post('/hooks', express.raw({ type: () => true, limit: '1mb' }), (request, response) => {
  let event;
  try {
    event = parseEvent({
      header: request.get('service-signature'),
      body: request.body ?? '',
      secret: process.env.POSTRIDER_WEBHOOK_SECRET, // whsec_…, whole
    });
  } catch (error) {
    if (!(error instanceof SignatureVerificationError)) throw error;
    return response.status(400).send(error.reason);
  }
  if (!handled.has(event.id)) {
    console.log(event.type, event.id); // yours: add a job to your queue, and work later
    handled.add(event.id); // last: if the line above throws, the retry does the work
  }
  return response.status(204).end();
});

const server = app.listen(process.env.PORT ?? 3000, () => {
  console.log(`http://localhost:${server.address().port}/hooks`);
});
