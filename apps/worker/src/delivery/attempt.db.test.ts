import { beforeEach, describe, expect, test } from '@jest/globals';
import { standardSecret } from '@postrider/domain';
import { HTTP_CLIENTS } from '@postrider/outbound';
import { verifySignature } from '@postrider/receiver';
import { answer, redirectTo } from '@postrider/testing';
import { Webhook } from 'standardwebhooks';
import { setupDeliveries, SECRET } from '../../test/delivery-fixture.ts';

const fixture = setupDeliveries(() => 'nxdomain');
/** A new path for each test. */
let path: string;
let paths = 0;

beforeEach(() => void (path = `/hook-${(paths += 1)}`));

const requests = () => fixture.receiver.requests.filter((request) => request.path === path);

describe.each(HTTP_CLIENTS)('over %s', (httpClient) => {
  test('the library of Standard Webhooks verifies every attempt, beside our own signature', async () => {
    fixture.clock.set(new Date()); // the library reads the system's clock
    fixture.receiver.script(path, [answer(503), answer(204)]);
    const { webhookId } = await fixture.endpoint(path);
    const deliver = fixture.worker({ httpClient, standardWebhooks: true });
    await deliver(await fixture.job(webhookId));
    fixture.clock.advance(2_000);
    await deliver(await fixture.nextJob(webhookId));

    const [event] = await fixture.database.query<{ id: string }>('select id from events');
    const library = new Webhook(standardSecret(SECRET));
    const [first, second] = requests().map(({ headers, body }) => {
      const sent = headers as Record<string, string>;
      expect(library.verify(body, sent)).toMatchObject({ id: event?.id });
      expect(sent['webhook-id']).toBe(event?.id);
      verifySignature({ header: sent['service-signature'], body, secret: SECRET });
      return Number(sent['webhook-timestamp']);
    });
    expect(second).toBe(Number(first) + 2);
  });

  test('without STANDARD_WEBHOOKS_HEADERS, no header of Standard Webhooks is sent', async () => {
    fixture.receiver.always(path, answer(204));
    const { webhookId } = await fixture.endpoint(path);
    await fixture.worker({ httpClient })(await fixture.job(webhookId));
    const [sent] = requests();
    expect(Object.keys(sent?.headers ?? {}).filter((name) => name.startsWith('webhook-'))).toEqual([]);
  });

  test('every attempt carries the headers of the customer, which replace none of ours', async () => {
    fixture.receiver.script(path, [answer(503), answer(204)]);
    const theirs = {
      Authorization: 'Bearer x',
      constructor: 'c',
      'X-Empty': '',
      'x-punct': '"a"; b=\'c\', \\',
    };
    const stale = { 'service-signature': 'theirs', 'Service-Event-ID': 'theirs', 'webhook-id': 'theirs' };
    const { webhookId } = await fixture.endpoint(path, { ...theirs, ...stale });
    const deliver = fixture.worker({ httpClient, standardWebhooks: true });
    await deliver(await fixture.job(webhookId));
    await deliver(await fixture.nextJob(webhookId));
    const sent = requests();
    expect(sent).toHaveLength(2);
    for (const { headers, rawHeaders } of sent) {
      expect(headers).toMatchObject(lowerCased(theirs));
      expect(rawHeaders.filter((text) => text === 'theirs')).toEqual([]);
      expect(headers['service-signature']).toMatch(/^t=/);
    }
  });

  test('a redirect gets no request, so no other host sees the headers', async () => {
    fixture.receiver.always(path, redirectTo(fixture.receiver.url('/elsewhere'), 307));
    const { webhookId } = await fixture.endpoint(path, { Authorization: 'Bearer x' });
    await fixture.worker({ httpClient })(await fixture.job(webhookId));
    expect(requests()).toHaveLength(1);
    expect(fixture.receiver.requests.filter((request) => request.path === '/elsewhere')).toEqual([]);
  });
});

test('the headers of the customer are in no log line, attempt or dead letter', async () => {
  fixture.receiver.script(path, [answer(503), answer(410)]);
  const { webhookId } = await fixture.endpoint(path, { 'X-The-Name': 'the-value' });
  const deliver = fixture.worker();
  await deliver(await fixture.job(webhookId));
  await deliver(await fixture.nextJob(webhookId));
  await expect(fixture.worker({ otherKeys: true })(await fixture.job(webhookId))).rejects.toThrow();
  const stored = await fixture.database.query(
    'select to_jsonb(a) from attempts a union all select to_jsonb(l) from dead_letters l',
  );
  expect(stored).toHaveLength(3);
  const written = JSON.stringify([stored, fixture.log.lines('delivery.attempted')]).toLowerCase();
  expect(fixture.log.lines('delivery.attempted')).toHaveLength(2);
  for (const word of ['the-name', 'the-value']) expect(written).not.toContain(word);
});

const lowerCased = (headers: object) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value as string]));
