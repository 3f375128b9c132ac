import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { envelopeBytes, signatureHeader } from '@postrider/domain';
import type { EventId } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import { runProgram, setupInstalledReceiver, startExample, write } from './installed-receiver.ts';

/* The examples of the package for customers, installed as a customer has them. */

const installed = setupInstalledReceiver();

const PROGRAMS = ['express.mjs', 'fastify.mjs', 'on-node.mjs ./hono.mjs', 'on-node.mjs ./fetch.mjs'];

/** Makes the first print of an event throw. In the examples, the print stands for the call of a queue. */
const QUEUE_FAILS_ONCE = `
const { log } = console;
console.error = () => undefined; // the frameworks print the error
console.log = (...words) => {
  if (!words[0].startsWith('email.')) return log(...words);
  console.log = log;
  throw new Error('the queue is away');
};
`;

describe('the examples', () => {
  const SECRET = 'whsec_of_the_examples';
  const event = (id: string) =>
    envelopeBytes({
      id: id as EventId,
      type: 'email.sent',
      subject: 'acct_1',
      createdAt: new Date(),
      data: '{"email_id":"em_1","from":"a@example.com","subject":"Grüße 🎉","error":null}',
    });

  async function post(url: string, body: Buffer, header: string | null, more = {}): Promise<string> {
    const headers = {
      'content-type': 'application/json',
      ...(header === null ? {} : { 'service-signature': header }),
      ...more,
    };
    const answer = await fetch(url, { method: 'POST', body: new Uint8Array(body), headers });
    return `${answer.status} ${await answer.text()}`.trim();
  }

  const signed = (url: string, body: Buffer, at = new Date(), secret = SECRET) =>
    post(url, body, signatureHeader(secret, body, at));

  test.each(PROGRAMS)('%s takes each signed event once, and refuses every other request', async (example) => {
    const { url, output, stop } = await startExample(installed, example, SECRET);
    try {
      expect(await signed(url, event('evt_1'))).toBe('204');
      expect(await signed(url, event('evt_2'))).toBe('204');
      expect(await signed(url, event('evt_1'))).toBe('204');
      // The signature does not cover this header.
      const first = event('evt_1');
      const signature = signatureHeader(SECRET, first, new Date());
      expect(await post(url, first, signature, { 'service-event-id': 'evt_9' })).toBe('204');
      expect(await signed(url, event('evt_3'), new Date(), 'whsec_other')).toBe('400 no-match');
      expect(await signed(url, event('evt_3'), new Date(Date.now() - 600_000))).toBe(
        '400 timestamp-outside-window',
      );
      expect(await post(url, event('evt_3'), null)).toBe('400 no-header');
      expect(await post(url, event('evt_3'), 'v1=1')).toBe('400 malformed');
      expect(await post(url, Buffer.alloc(0), null)).toBe('400 no-header');
      await waitFor(() => output().length > 2, { what: 'two events to be printed' });
      expect(output().slice(1)).toEqual(['email.sent evt_1', 'email.sent evt_2']);
    } finally {
      await stop();
    }
  });

  /** Posts a body of this size. @returns the status */
  async function postOf(url: string, bytes: number, isChunked: boolean): Promise<number> {
    const headers = { 'service-signature': 't=1,v1=1', ...(isChunked ? {} : { 'content-length': bytes }) };
    const outgoing = request(url, { method: 'POST', agent: false, headers });
    outgoing.on('error', () => undefined); // the program may close before it has read the rest
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    outgoing.write(Buffer.alloc(bytes - 1, 'x'));
    outgoing.end('x');
    const [answer] = await answered;
    outgoing.destroy();
    return answer.statusCode ?? 0;
  }

  test.each(PROGRAMS)('%s reads 1 MiB, and refuses a larger body with 413', async (example) => {
    const { url, stop } = await startExample(installed, example, SECRET);
    try {
      for (const isChunked of [false, true]) {
        expect(await postOf(url, 1_048_576, isChunked)).toBe(400); // read, and judged by its header
        expect(await postOf(url, 1_048_577, isChunked)).toBe(413);
      }
      expect(await signed(url, event('evt_1'))).toBe('204');
    } finally {
      await stop();
    }
  });

  test('fetch.mjs refuses a request without a signature before it reads the body', async () => {
    const { url, stop } = await startExample(installed, 'on-node.mjs ./fetch.mjs', SECRET);
    const outgoing = request(url, { method: 'POST', agent: false });
    try {
      outgoing.on('error', () => undefined);
      const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
      outgoing.write('{'); // the rest never comes
      const [answer] = await answered;
      expect(answer.statusCode).toBe(400);
    } finally {
      outgoing.destroy();
      await stop();
    }
  });

  test.each(PROGRAMS)(
    '%s answers a 5xx when its queue fails, and the retry adds the job',
    async (example) => {
      write(installed.app, 'queue-fails-once.mjs', QUEUE_FAILS_ONCE);
      const program = `--import ./queue-fails-once.mjs ${example}`;
      const { url, output, stop } = await startExample(installed, program, SECRET);
      try {
        expect(await signed(url, event('evt_1'))).toMatch(/^500/);
        expect(await signed(url, event('evt_1'))).toBe('204');
        expect(await signed(url, event('evt_2'))).toBe('204');
        await waitFor(() => output().includes('email.sent evt_2'), {
          what: 'the second event to be printed',
        });
        expect(output().slice(1)).toEqual(['email.sent evt_1', 'email.sent evt_2']);
      } finally {
        await stop();
      }
    },
  );

  const IN_PROCESS_ENV = `process.env.POSTRIDER_WEBHOOK_SECRET = '${SECRET}';`;

  test.each([
    [
      'in the second argument, without `process`, as Cloudflare Workers pass it',
      'delete globalThis.process;',
      `{ POSTRIDER_WEBHOOK_SECRET: '${SECRET}' }`,
    ],
    ['in the environment, when Bun passes its server', IN_PROCESS_ENV, `{ hostname: 'localhost' }`],
    ['in the environment, when Deno passes the client', IN_PROCESS_ENV, '{ remoteAddr: {} }'],
    ['in the environment, when the request comes alone', IN_PROCESS_ENV, 'undefined'],
  ])('fetch.mjs finds the secret %s', async (_where, prepare, second) => {
    const body = event('evt_1');
    const asked = {
      method: 'POST',
      headers: { 'service-signature': signatureHeader(SECRET, body, new Date()) },
      body: body.toString(),
    };
    const program = `
      const { log } = console;
      console.log = () => undefined; // the example prints the event
      ${prepare}
      const { default: handler } = await import('./fetch.mjs');
      const request = new Request('http://localhost/hooks', ${JSON.stringify(asked)});
      log((await handler.fetch(request, ${second})).status);`;
    expect(await runProgram(installed, 'call-fetch.mjs', program)).toBe(204);
  });
});
