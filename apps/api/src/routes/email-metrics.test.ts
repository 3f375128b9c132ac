import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { ApiKey } from '@postrider/store';
import { noSlotInTime } from '../problems/answers.ts';
import { getEmailMetrics } from './email-metrics.ts';

test('a request whose client disconnects no longer waits for the counts of others', async () => {
  const counts: { readonly end: () => void }[] = [];
  const count = () =>
    new Promise<{ kind: 'too-many' }>(
      (resolve) => void counts.push({ end: () => resolve({ kind: 'too-many' }) }),
    );
  const route = getEmailMetrics({ count }, systemClock);
  /** A request of a new account. */
  const send = () => {
    const client = new ServerResponse(new IncomingMessage(new Socket()));
    const answer = route.handle({
      key: { kind: 'live', scopes: [], accountId: newId('account', systemClock) } as unknown as ApiKey,
      id: '',
      params: {},
      origin: 'https://api.test',
      query: new URLSearchParams(),
      headers: {},
      body: undefined,
      requestId: 'req_1',
      recheckKey: async () => null,
      client,
    });
    return { client, answer };
  };
  const [first] = [send(), send()];
  const [waiting, next] = [send(), send()];
  await setImmediate();
  waiting.client.emit('close');
  expect(await waiting.answer).toEqual(noSlotInTime);
  expect(counts).toHaveLength(2);
  counts[0]?.end();
  await first.answer;
  await setImmediate();
  expect(counts).toHaveLength(3);
  counts[2]?.end();
  expect(await next.answer).toMatchObject({ kind: 'problem', slug: 'validation-failed' });
});
