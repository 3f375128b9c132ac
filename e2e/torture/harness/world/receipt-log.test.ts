import { createServer } from 'node:http';
import { expect, test } from '@jest/globals';
import { listen, waitFor } from '@postrider/testing';
import type { Exchange, ReceivedRequest } from '@postrider/testing';
import type { Receipt } from '../checker/history.ts';
import { logging } from './receipt-log.ts';

const nowMs = (): number => performance.timeOrigin + performance.now();

test('the time of an answer is when it was written, also when Node reports the write late', async () => {
  let receipt: Receipt | null = null;
  let writtenAtMs = 0;
  const recipient = { webhookId: 'wh_1', signingSecret: 'whsec_none', signatureOffMs: 0 };
  const busyAfterwards = logging(
    recipient,
    {
      status: 200,
      beforeBody: true,
      async play({ response }: Exchange) {
        response.end('ok');
        writtenAtMs = nowMs();
        while (nowMs() < writtenAtMs + 20);
      },
    },
    (line) => (receipt = line),
  );
  const server = createServer((incoming, response) => {
    if (typeof busyAfterwards === 'function') throw new Error('it waits for the body');
    const request = { headers: incoming.headers, receivedAtMs: performance.now() } as ReceivedRequest;
    void busyAfterwards.play({ request, response, socket: incoming.socket } as unknown as Exchange);
  });
  const { port, close } = await listen(server);
  await fetch(`http://127.0.0.1:${port}/`);
  const answered = await waitFor(() => receipt?.answeredAtMs ?? false, { what: 'the answer to be logged' });
  await close();
  expect(answered).toBeLessThanOrEqual(writtenAtMs);
});
