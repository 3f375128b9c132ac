import { describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { beginMessage, FROM, STORED, testServers, TO } from '../../test/test-server.ts';
import type { TestServerOptions } from '../../test/test-server.ts';
import type { PipelineOutcome } from '../pipeline/mail-pipeline.ts';

const servers = testServers();

const LONG_MS = 20_000;
const SHORT_MS = 200;
const STOPPING = '421 4.4.2 The server is shutting down';

/** A server whose sink holds every message until `commit`. */
async function holding(options: TestServerOptions = {}) {
  const { promise: receipt, resolve: commit } = Promise.withResolvers<PipelineOutcome>();
  const server = await servers.start({ ...options, receive: () => receipt });
  return { server, commit: () => commit(STORED) };
}

describe('a server that stops', () => {
  test('ends the sessions that wait, at once', async () => {
    const server = await servers.start();
    const [idle, begun] = [await server.greet(), await server.greet()];
    await begun.say(FROM);
    await begun.say(TO);
    await server.inbound.stop(LONG_MS);
    expect(await idle.rest()).toEqual([STOPPING]);
    expect(await begun.rest()).toEqual([STOPPING]);
    expect(server.refusals).toEqual(['421 stopping', '421 stopping']);
  });

  test('ends sessions that have no greeting yet', async () => {
    const server = await servers.start();
    const client = await server.open();
    await server.inbound.stop(LONG_MS);
    expect((await client.rest()).filter((answer) => !answer.startsWith('421'))).toEqual([]);
  });

  test('lets a message that is being received finish with 250', async () => {
    const { server, commit } = await holding();
    const client = await server.greet();
    await beginMessage(client);
    client.write('x\r\n.\r\n');
    await waitFor(() => server.received.length === 1, { what: 'the message' });
    const stopped = server.inbound.stop(LONG_MS);
    await expect(server.open()).rejects.toThrow('ECONNREFUSED');
    commit();
    expect(await client.rest()).toEqual([expect.stringMatching(/^250 2\.6\.0 /), STOPPING]);
    await stopped;
  });

  test('lets an arriving message finish with 250, and accepts no further message', async () => {
    const server = await servers.start();
    const client = await server.greet();
    await beginMessage(client);
    client.write('first half\r\n');
    const stopped = server.inbound.stop(LONG_MS);
    client.write(`second half\r\n.\r\n${FROM}\r\n${TO}\r\nDATA\r\nmore\r\n.\r\n`);
    const answers = await client.rest();
    expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['250', '421']);
    await stopped;
    expect(server.received.map(({ message }) => message)).toEqual(['first half\r\nsecond half\r\n']);
  });

  test('over LMTP gives all answers before it ends', async () => {
    const { server, commit } = await holding({ protocol: 'lmtp' });
    const client = await server.greet();
    await beginMessage(client, TO, TO.replace('a@', 'b@'));
    client.write('x\r\n.\r\n');
    await waitFor(() => server.received.length === 1, { what: 'the message' });
    const stopped = server.inbound.stop(LONG_MS);
    commit();
    expect((await client.rest()).map((answer) => answer.slice(0, 3))).toEqual(['250', '250', '421']);
    await stopped;
  });

  test('answers 421 to a message that is not committed in time: the client sends it again', async () => {
    const { server, commit } = await holding();
    const [client, dripping] = [await server.greet(), await server.greet()];
    await beginMessage(dripping);
    await beginMessage(client);
    client.write('x\r\n.\r\n');
    await waitFor(() => server.received.length === 1, { what: 'the message' });
    await server.inbound.stop(SHORT_MS);
    commit();
    expect((await client.rest()).map((answer) => answer.slice(0, 3))).toEqual(['421']);
    expect((await dripping.rest()).map((answer) => answer.slice(0, 3))).toEqual(['421']);
  });
});
