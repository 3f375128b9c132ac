import { describe, expect, test } from '@jest/globals';
import { beginMessage, FROM, testServers, TO } from '../../test/test-server.ts';

const servers = testServers();

const HIDDEN = 'MAIL FROM:<admin@inbox.example>\r\nRCPT TO:<b@inbox.example>\r\nDATA\r\nhidden\r\n';

/**
 * Byte sequences that some servers take for the end of DATA and others do not, with the content they become.
 */
const FORMS: readonly (readonly [string, string])[] = [
  ['\n.\n', '\n.\n'],
  ['\n.\r\n', '\n.\r\n'],
  ['\r\n.\n', '\r\n\n'],
  ['\r.\r', '\r.\r'],
  ['\r.\r\n', '\r.\r\n'],
  ['\r\n.\r', '\r\n\r'],
  ['\n.\r', '\n.\r'],
  ['\r\n\0.\r\n', '\r\n\0.\r\n'],
  ['\r\n.\0\r\n', '\r\n\0\r\n'],
];

describe('a message that hides a second one', () => {
  test.each(FORMS)('behind %j is one message', async (form, content) => {
    const server = await servers.start();
    const client = await server.greet();
    await beginMessage(client);
    client.write(`seen${form}${HIDDEN}.\r\n`);
    expect(await client.answer()).toMatch(/^250 2\.6\.0 /);
    expect(await client.say('QUIT')).toMatch(/^221 /);
    expect(server.received.map(({ message, envelope }) => [message, envelope.recipients])).toEqual([
      [`seen${content}${HIDDEN}`, ['a@inbox.example']],
    ]);
  });

  test.each(FORMS)('behind %j is one message, in packets of one byte', async (form, content) => {
    const server = await servers.start();
    const client = await server.greet();
    await beginMessage(client);
    for (const byte of Buffer.from(`seen${form}${HIDDEN}.\r\n`)) {
      client.write(Buffer.of(byte));
      await client.flushed();
    }
    expect(await client.answer()).toMatch(/^250 2\.6\.0 /);
    expect(server.received.map(({ message }) => message)).toEqual([`seen${content}${HIDDEN}`]);
  });

  test.each([
    ['.\n', '\n'],
    ['.\r', '\r'],
    ['\n.\n', '\n.\n'],
    ['\n.\r\n', '\n.\r\n'],
    ['\r.\r\n', '\r.\r\n'],
  ])('at its very beginning behind %j is one message', async (form, content) => {
    const server = await servers.start();
    const client = await server.greet();
    await beginMessage(client);
    client.write(`${form}${HIDDEN}.\r\n`);
    expect(await client.answer()).toMatch(/^250 2\.6\.0 /);
    expect(await client.say('QUIT')).toMatch(/^221 /);
    expect(server.received.map(({ message }) => message)).toEqual([`${content}${HIDDEN}`]);
  });

  test('behind a dot of its own is not cut by how the packets fall', async () => {
    const server = await servers.start();
    const client = await server.greet();
    await beginMessage(client);
    client.write('.');
    await client.flushed();
    client.write(`.\r\n${HIDDEN}.\r\n`);
    expect(await client.answer()).toMatch(/^250 2\.6\.0 /);
    expect(server.received.map(({ message }) => message)).toEqual([`.\r\n${HIDDEN}`]);
  });
});

test('what follows a true end is the next command, and no part of the message', async () => {
  const server = await servers.start();
  const client = await server.greet();
  await beginMessage(client);
  client.write(`one\r\n.\r\n${FROM}\r\n${TO}\r\nDATA\r\ntwo\n.\n\r\n.\r\n`);
  const answers = [];
  for (let count = 0; count < 5; count += 1) answers.push((await client.answer()).slice(0, 3));
  expect(answers).toEqual(['250', '250', '250', '354', '250']);
  expect(server.received.map(({ message }) => message)).toEqual(['one\r\n', 'two\n.\n\r\n']);
});
