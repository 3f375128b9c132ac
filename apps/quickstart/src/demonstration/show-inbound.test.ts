import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { startTcpListener } from '@postrider/testing';
import type { Stage } from './show.ts';
import { showInboundMail } from './show-inbound.ts';

test('a received message without a mail thread ends the demonstration before a reply', async () => {
  let isData = false;
  const smtp = await startTcpListener((socket) => {
    const lines = createInterface({ input: socket });
    lines.on('line', (line) => {
      if (isData && line !== '.') return;
      isData = line === 'DATA';
      socket.write(isData ? '354 go on\r\n' : '250 OK\r\n');
    });
    socket.write('220 hello\r\n');
  });
  const paths: string[] = [];
  const event = { id: 'evt_1', type: 'message.received', data: { id: 'in_1', thread_id: null } };
  const stage = {
    api: { request: async (_method: string, path: string) => (paths.push(path), { data: [] }) },
    arrivals: { find: async () => ({ event }) },
    terminal: { say: () => undefined, during: (_words: string, work: () => unknown) => work() },
  } as unknown as Stage;
  try {
    const shown = showInboundMail(stage, { host: '127.0.0.1', port: smtp.port });
    await expect(shown).rejects.toThrow('the received message in_1 has no thread');
  } finally {
    await smtp.close();
  }
  expect(paths).toEqual(['/v1/inboxes', '/v1/inboxes']);
});
