import { describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { beginMessage, FROM, STORED, testServers, TO } from '../../test/test-server.ts';
import type { TestServer } from '../../test/test-server.ts';
import type { PipelineOutcome } from '../pipeline/mail-pipeline.ts';

const servers = testServers();

/** A short limit that must run out. */
const SHORT_MS = 200;

/** The log lines that begin with these words. */
const linesOf = (server: TestServer, words: string) =>
  server
    .log()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => String(msg).startsWith(words));

const never = () => new Promise<never>(() => undefined);

describe('a recipient', () => {
  test.each([
    ['fails', async () => Promise.reject(new Error('no connection'))],
    ['does not answer', never],
  ])('gets 451 when the sink %s, and the session continues', async (_case, accepts) => {
    const server = await servers.start({ accepts, limits: { acceptsTimeoutMs: SHORT_MS } });
    const client = await server.greet();
    await client.say(FROM);
    expect(await client.say(TO)).toBe('451 4.3.0 Recipient not checked, try again later');
    expect(await client.say('NOOP')).toMatch(/^250 /);
    expect(server.refusals).toEqual(['451 unavailable']);
    expect(linesOf(server, 'recipient not judged')).toMatchObject([
      { session_id: expect.any(String), client_address: '127.0.0.1', error: expect.anything() },
    ]);
  });

  test('that is unknown gets 550; after 50 such recipients of one message the session still continues', async () => {
    const server = await servers.start();
    const client = await server.greet();
    await client.say(FROM);
    for (let count = 0; count < 50; count += 1) {
      expect(await client.say(`RCPT TO:<r${count}@example.org>`)).toMatch(/^550 5\.1\.1 /);
    }
    expect(await client.say('RSET')).toMatch(/^250 /);
    await beginMessage(client);
    expect(await client.say('x\r\n.')).toMatch(/^250 /);
  });

  test('gets 451 when the sink throws at once', async () => {
    const server = await servers.start({
      accepts: () => {
        throw new Error('not ready');
      },
    });
    const client = await server.greet();
    await client.say(FROM);
    expect(await client.say(TO)).toMatch(/^451 4\.3\.0 /);
  });
});

describe('a message', () => {
  test('gets 250 only after the sink has received it', async () => {
    const { promise: receipt, resolve: resolve } = Promise.withResolvers<PipelineOutcome>();
    const server = await servers.start({ receive: () => receipt });
    const [client, other] = [await server.greet(), await server.greet()];
    await beginMessage(client);
    client.write('x\r\n.\r\nNOOP\r\n');
    await waitFor(() => server.received.length === 1, { what: 'the message' });
    // Meanwhile the server answered another session.
    for (let count = 0; count < 20; count += 1) await other.say('NOOP');
    expect(client.pending()).toBe(0);
    resolve(STORED);
    expect(await client.answer()).toMatch(/^250 2\.6\.0 OK, received as /);
    expect(await client.answer()).toBe('250 2.0.0 OK');
  });

  test.each([
    ['fails', async () => Promise.reject(new Error('no disk'))],
    ['does not answer', never],
  ])('gets 451 when the sink %s, and passes when it is sent again', async (_case, receive) => {
    let calls = 0;
    const server = await servers.start({
      limits: { receiveTimeoutMs: SHORT_MS },
      receive: async () => {
        calls += 1;
        return calls === 1 ? receive() : STORED;
      },
    });
    const client = await server.greet();
    await beginMessage(client);
    expect(await client.say('x\r\n.')).toBe('451 4.3.0 Message not received, try again later');
    await beginMessage(client);
    expect(await client.say('x\r\n.')).toMatch(/^250 /);
    const [first, second] = server.received;
    expect(second?.message).toBe(first?.message);
    expect(second?.raw.equals(first?.raw ?? Buffer.alloc(0))).toBe(false);
    expect(server.refusals).toEqual(['451 unavailable']);
    expect(linesOf(server, 'message not received')).toMatchObject([{ client_address: '127.0.0.1' }]);
  });

  test('counts in the memory budget until the sink settles, even after a timeout', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<PipelineOutcome>();
    const server = await servers.start({
      limits: { receiveTimeoutMs: SHORT_MS, bytesInFlightMax: 256 * 1024 }, // a quarter is one block
      receive: () => held,
    });
    const client = await server.greet();
    await beginMessage(client);
    expect(await client.say('x\r\n.')).toMatch(/^451 4\.3\.0 Message not received/);
    await beginMessage(client);
    expect(await client.say('x\r\n.')).toMatch(/^451 4\.3\.0 Too much mail/);
    release(STORED);
    await beginMessage(client);
    expect(await client.say('x\r\n.')).toMatch(/^250 /);
  });

  test.each<['nobody' | 'later', string]>([
    ['nobody', '550 5.1.1 No such recipient here'],
    ['later', '451 4.3.0 The message cannot be stored at the moment'],
  ])('that is not stored gets an answer: %s', async (kind, answer) => {
    const server = await servers.start({ receive: async () => ({ kind }) });
    const client = await server.greet();
    await beginMessage(client);
    expect(await client.say('x\r\n.')).toBe(answer);
    expect(await client.say('NOOP')).toMatch(/^250 /);
    expect(server.refusals).toEqual([kind === 'later' ? '451 not_received' : '550 refused_by_intake']);
  });
});

describe('over LMTP', () => {
  test('the greeting is its own, and HELO is not', async () => {
    const server = await servers.start({ protocol: 'lmtp' });
    const client = await server.open();
    expect(await client.answer()).toMatch(/^220 \S+ LMTP$/);
    expect(await client.say('EHLO client.example')).toMatch(/^500 /);
    expect(await client.say('LHLO client.example')).toMatch(/^250-/);
    await beginMessage(client);
    expect(await client.say('.')).toMatch(/^250 /);
    expect(server.received[0]?.raw.toString()).toContain('with LMTP id');
  });

  test('each session is a client of its own', async () => {
    const server = await servers.start({ protocol: 'lmtp' });
    for (const client of [await server.greet(), await server.greet()]) {
      await beginMessage(client);
      await client.say('.');
    }
    const envelopes = server.received.map(({ envelope }) => envelope);
    expect(new Set(envelopes.map(({ client }) => client)).size).toBe(2);
  });

  const recipients = [
    TO,
    'RCPT TO:<b@inbox.example>',
    'RCPT TO:<nobody@example.org>',
    TO.replace('a@', 'A@'),
  ];

  test.each<[string, () => Promise<PipelineOutcome>, RegExp]>([
    ['a message received', async () => STORED, /^250 2\.6\.0 OK/],
    ['a message refused', async () => ({ kind: 'nobody' }), /^550 5\.1\.1 No such/],
    ['a message put off', async () => ({ kind: 'later' }), /^451 4\.3\.0 The message cannot/],
    ['a failure', async () => Promise.reject(new Error('no disk')), /^451 4\.3\.0 Message not/],
  ])('%s is answered for each accepted recipient, a repeated one too', async (_case, receive, answer) => {
    const server = await servers.start({ protocol: 'lmtp', receive });
    const client = await server.greet();
    await beginMessage(client, ...recipients);
    client.write('x\r\n.\r\nNOOP\r\n');
    for (let count = 0; count < 3; count += 1) expect(await client.answer()).toMatch(answer);
    expect(await client.answer()).toBe('250 2.0.0 OK');
    expect(server.received).toHaveLength(1);
  });

  test('each message of a session is answered for its own recipients, not for those of messages before it', async () => {
    const server = await servers.start({ protocol: 'lmtp' });
    const client = await server.greet();
    await beginMessage(client, ...recipients);
    client.write('x\r\n.\r\n');
    for (let count = 0; count < 3; count += 1) expect(await client.answer()).toMatch(/^250 2\.6\.0 OK/);
    for (const command of [FROM, TO, 'RCPT TO:<b@inbox.example>', 'RSET']) await client.say(command);
    await beginMessage(client);
    client.write('x\r\n.\r\nNOOP\r\n');
    expect(await client.answer()).toMatch(/^250 2\.6\.0 OK/);
    expect(await client.answer()).toBe('250 2.0.0 OK');
  });

  test('a message that is too long is answered for each recipient', async () => {
    const server = await servers.start({ protocol: 'lmtp', limits: { messageBytesMax: 10 } });
    const client = await server.greet();
    await beginMessage(client, ...recipients);
    client.write('more than ten\r\n.\r\nNOOP\r\n');
    for (let count = 0; count < 3; count += 1) expect(await client.answer()).toMatch(/^552 5\.3\.4 /);
    expect(await client.answer()).toBe('250 2.0.0 OK');
    expect(server.refusals).toEqual(['550 unknown_recipient', '552 size', '552 size', '552 size']);
  });
});
