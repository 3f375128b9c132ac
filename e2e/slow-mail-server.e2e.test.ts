import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { createRows, listen, waitFor } from '@postrider/testing';
import { startSystem } from './start-system.ts';

/* The time limits of SMTP, as the settings give them to a worker. */

const REPLY_TIMEOUT_MS = 1_000;

test('a mail server may take longer to answer a whole message than to answer a command', async () => {
  let messages = 0;
  const server = createServer((socket) => {
    const reply = (text: string) => socket.write(`${text}\r\n`);
    reply('220 hello');
    createInterface({ input: socket }).on('line', (line) => {
      if (line === 'DATA') reply('354 go on');
      else if (/^(EHLO|MAIL|RCPT|RSET)/.test(line)) reply('250 OK');
      else if (line === '.') {
        messages += 1;
        setTimeout(() => reply('250 OK'), 2 * REPLY_TIMEOUT_MS);
      }
    });
  });
  const { port, close } = await listen(server);
  const system = await startSystem();
  try {
    await createRows(system.db).email(-1000, system.accountId);
    await system.start('relay');
    await system.start('worker', {
      MAIL_PROVIDER: 'smtp',
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      SMTP_REPLY_TIMEOUT_MS: String(REPLY_TIMEOUT_MS),
    });
    await waitFor(async () => (await system.db.query('select from email_sends')).length === 0, {
      what: 'the message to leave the outbox',
      timeoutMs: 60_000,
    });
    expect(await system.db.query('select status::text from emails')).toEqual([{ status: 'sent' }]);
    expect(messages).toBe(1);
  } finally {
    await system.close();
    await close();
  }
});
