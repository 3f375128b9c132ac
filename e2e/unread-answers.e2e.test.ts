import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import { createRows, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

const CONNECTIONS = 40;
/** JSON writes each of these characters in six bytes. */
const BODY = '\u0001'.repeat(LIMITS.receivedBytes);

let system: System;
let api: SystemProcess;
let path: string;
let sockets: Socket[] = [];

beforeAll(async () => {
  system = await startSystem();
  api = await system.start('api');
  const { accountId } = system;
  path = `/v1/inbound/messages/${await createRows(system.db).message({ accountId, text: BODY, html: BODY })}`;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await system.close();
});

/** The most memory that the process has had, in MiB. */
function peakMemory({ pid }: SystemProcess): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

const authorization = () => `Bearer ${system.apiKey}`;

test('the API needs less than 600 MiB, whatever one key leaves unread or reads', async () => {
  const port = await api.port();
  sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect(port, '127.0.0.1')
      .on('error', () => undefined)
      .pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization()}\r\n\r\n`);
    return socket;
  });
  const url = `http://127.0.0.1:${port}${path}`;
  const ask = async () => fetch(url, { headers: { authorization: authorization() } });
  await waitFor(async () => (await (await ask()).text()).includes('not-ready'), {
    what: 'an answer to be refused',
  });
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => (await ask()).arrayBuffer()));
  for (const socket of sockets) socket.destroy();
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => (await ask()).arrayBuffer()));
  expect(peakMemory(api)).toBeLessThan(600);
});
