import { beforeEach, describe, expect, test } from '@jest/globals';
import { standardSecret } from '@postrider/domain';
import { HTTP_CLIENTS } from '@postrider/outbound';
import { verifySignature } from '@postrider/receiver';
import { answer } from '@postrider/testing';
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
});
