import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { verifySignature } from '@postrider/receiver';
import { answer, waitFor } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* An account and the operator learn that a webhook fails, and that it is well again. */

const SECRET = 'the-operators-secret-of-32-characters';
const ADDRESS = 'ops@shop.example';

let system: System;

/** The operator's endpoint is another path of the receiver. */
const operatorEnv = () => ({
  OPERATOR_WEBHOOK_URL: system.receiver.url('/operator'),
  OPERATOR_WEBHOOK_SECRET: SECRET,
});

beforeAll(async () => {
  system = await startSystem({
    // Eight attempts take seven seconds. An endpoint is failing after five seconds.
    env: { WEBHOOK_FAILING_NOTICE_MINUTES: '0.01', DELIVERY_RETRY_DELAYS_SECONDS: '1,1,1,1,1,1,1' },
  });
  await system.start('relay', operatorEnv());
});
afterAll(() => system.close());

/** The mail in the sandbox, the oldest first. */
function sandboxMail(): string[] {
  const folder = join(system.directory, 'sandbox');
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.eml'));
    return names.sort().map((name) => readFileSync(join(folder, name), 'utf8'));
  } catch {
    return []; // no mail yet
  }
}

async function untilMails(count: number): Promise<string[]> {
  return waitFor(() => sandboxMail().length >= count && sandboxMail(), { what: `${count} mails` });
}

const decoded = (text: string) => text.replaceAll('=\r\n', '').replaceAll('=3D', '=');

/** Waits for this many events at the operator's endpoint, and verifies their signatures. */
async function operatorEvents(count: number) {
  const requests = await system.receiver.waitForRequests(count, { path: '/operator', withinMs: 90_000 });
  return requests.map(({ headers, body }) => {
    verifySignature({ header: String(headers['service-signature']), body, secret: SECRET });
    return JSON.parse(String(body)) as { type: string; data: Record<string, unknown> };
  });
}

test('one mail and one signed event go out when a webhook fails, one of each when it is well again, and none for a second failure on the same day', async () => {
  await system.start('worker');
  await system.db.query('update accounts set notice_email = $2 where id = $1', [system.accountId, ADDRESS]);
  const { id } = await system.webhook('/hook');
  system.receiver.always('/hook', answer(503));
  await system.record(2);
  const [failing] = await operatorEvents(1);
  expect(failing).toMatchObject({
    type: 'webhook.failing',
    subject: system.accountId,
    data: { webhook_id: id, host: `127.0.0.1:${system.receiver.port}`, last_error: 'HTTP 503' },
  });
  const [first = ''] = await untilMails(1);
  expect(first).toMatch(/^To: ops@shop\.example\r$/m);
  expect(first).toMatch(/^From: Postrider <notices@postrider\.example>\r$/m);
  expect(decoded(first)).toContain(`POST /v1/webhooks/${id}/recover {"since": "20`);

  system.receiver.always('/hook', answer(200));
  await system.record(1);
  const [, recovered] = await operatorEvents(2);
  expect(recovered).toMatchObject({
    type: 'webhook.recovered',
    data: { webhook_id: id, failing_since: null },
  });
  const [, second = ''] = await untilMails(2);
  expect(decoded(second)).toContain('Your webhook receives events again.');

  // The notices make no events for the webhook. A second failure on the same day has no notice.
  await system.drained();
  system.receiver.always('/hook', answer(503));
  await system.record(2);
  const failedForLong = 'select from webhooks where id = $1 and failing_since < now() - $2::interval';
  await waitFor(async () => (await system.db.query(failedForLong, [id, '1 s'])).length > 0, {
    what: 'the webhook to have failed again for long enough',
  });
  const { id: marker } = await system.webhook('/marker');
  await system.db.query(`update webhooks set failing_since = now() - interval '1 s' where id = $1`, [marker]);
  const [, , third = ''] = await untilMails(3);
  expect(third).toContain(`Webhook ${marker} fails`);
  expect(sandboxMail()).toHaveLength(3);
  expect(await operatorEvents(3)).toMatchObject([{}, {}, { data: { webhook_id: marker } }]);
  await system.drained();
  const delivered = system.receiver.requests.filter(({ path }) => path === '/hook');
  expect(new Set(delivered.map(({ headers }) => headers['service-event-id'])).size).toBe(2 + 1 + 2);
});
