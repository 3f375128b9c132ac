import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { Resend } from 'resend';
import { dataOf } from './resend-setup.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Where an event is, through Resend's own SDK, and its replay. */

let system: System;
let api: SystemProcess;
let resend: Resend;

beforeAll(async () => {
  system = await startSystem({ env: { KEY_RATE_LIMIT_PER_MINUTE: '10000' } });
  [api] = await system.startAll(['api', 'relay', 'worker']);
});
afterAll(() => system.close());
beforeEach(async () => {
  await system.reset();
  resend = new Resend(system.apiKey, { baseUrl: `http://127.0.0.1:${await api.port()}/v1` });
});

test('an event is listed with its status, read with its payload and attempts, and sent again', async () => {
  const { id: webhookId } = await system.webhook('/hook');
  await dataOf(() => resend.suppressions.add({ email: 'ann@example.net' }));
  const { events } = resend.webhooks;
  const [listed] = await waitFor(
    async () => {
      const { data } = await dataOf(() => events.list({ webhookId }));
      return data[0]?.status === 'success' && data;
    },
    { what: 'the event to be delivered' },
  );
  const eventId = listed?.id ?? '';
  const read = await dataOf(() => events.get({ webhookId, eventId }));
  expect(read).toMatchObject({ object: 'webhook_event', status: 'success', next_attempt_at: null });
  const page = await dataOf(() => events.attempts.list({ webhookId, eventId, limit: 1 }));
  expect(page).toMatchObject({ has_more: false, data: [{ http_status_code: 200 }] });
  const replayed = await dataOf(() => events.replay({ webhookId, eventId }));
  expect(replayed).toEqual({ object: 'webhook_event', id: eventId });
  const attempts = () => dataOf(() => events.attempts.list({ webhookId, eventId }));
  await waitFor(async () => (await attempts()).data.length === 2, { what: 'the replay to be delivered' });
  const bodies = system.receiver.requests.map(({ body }) => body.toString());
  expect(bodies).toHaveLength(2);
  expect(new Set(bodies).size).toBe(1);
  expect(JSON.parse(bodies[0] ?? '')).toEqual(read.payload);
});
