import { createServer } from 'node:http';
import { expect, test } from '@jest/globals';
import { listen } from '@postrider/testing';
import { openRaw } from '../../test/raw-request.ts';
import { BASES } from '../../test/start-api.ts';
import { json } from './answer.ts';
import { openRequest } from './request-context.ts';
import { createSend } from './send.ts';
import { closeWhenUnread } from './unread-answer.ts';

const MIB = 1024 * 1024;
/** More than the buffers of both sides hold. */
const LONG = 'x'.repeat(48 * MIB);

test('a client that reads a long answer a piece now and then gets all of it', async () => {
  const send = createSend(BASES, { warn: () => undefined });
  const server = createServer((request, response) => {
    openRequest(request, response);
    request.resume().once('end', () => send(request, response, json(200, { answer: LONG })));
  });
  server.on('connection', (socket) => closeWhenUnread(socket, 1_000));
  const { port, close } = await listen(server);
  const { socket, ...raw } = await openRaw(port);
  let read = 0;
  socket.on('data', ({ length }: Buffer) => {
    read += length;
    if (read < MIB) return;
    read = 0;
    socket.pause();
  });
  const reading = setInterval(() => socket.resume(), 60); // takes 3 s
  raw.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect((await raw.closed()).length).toBeGreaterThan(LONG.length);
  clearInterval(reading);
  await close();
});
