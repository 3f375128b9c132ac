import { describe, expect, test } from '@jest/globals';
import { fetchMetrics, s3Error, serviceHang, waitFor } from '@postrider/testing';
import { message, PATIENCE_MS, setupSesInbound } from './ses-inbound.ts';

/* Mail of SES while S3 is away, or while the inbound process ends. */

const ses = setupSesInbound();

describe('mail that SES has put into a bucket', () => {
  test('waits while S3 is away, shows in the backlog, and is taken when S3 is back', async () => {
    const address = await ses.newInbox();
    const before = ses.requestCount('GetObject');
    ses.s3.fail(s3Error(503, 'SlowDown'), { operation: 'GetObject' });
    try {
      await ses.notify({ recipients: [address], object: ses.put(message('Late')) });
      // The SDK tries three times for each claim. So a fourth request belongs to a second claim.
      await waitFor(() => ses.requestCount('GetObject') >= before + 4, {
        what: 'a second claim',
        timeoutMs: PATIENCE_MS,
      });
      await waitFor(
        async () => (await fetchMetrics(await ses.inbound.port())).read('postrider_inbound_backlog') === 1,
        { what: 'the backlog to show it', timeoutMs: PATIENCE_MS },
      );
    } finally {
      ses.s3.heal();
    }
    await ses.expectOnce(address);
    expect(await ses.metric('result="later",reason="s3"')).toBeGreaterThan(0);
  });

  test('is taken once when a kill -9 ends the process that holds it', async () => {
    const address = await ses.newInbox();
    const before = ses.requestCount('GetObject');
    ses.s3.fail(serviceHang, { operation: 'GetObject' });
    await ses.notify({ recipients: [address], object: ses.put(message('Twice held')) });
    await waitFor(() => ses.requestCount('GetObject') > before, { what: 'the object to be asked for' });
    await ses.inbound.kill();
    ses.s3.heal();
    await ses.startInbound();
    expect(await ses.system.db.query('select claim, due_at > now() as leased from ses_mail')).toEqual([
      { claim: 1, leased: true },
    ]);
    await ses.system.db.query('update ses_mail set due_at = now()'); // as when the lease ends
    await ses.expectOnce(address);
  });

  test.each([
    ['before COMMIT', 'toServer', { messages: 0, waiting: 1 }],
    ['after COMMIT, before it has the answer', 'toClient', { messages: 1, waiting: 0 }],
  ] as const)(
    'is taken once when a kill -9 ends the process %s',
    async (_, holds, left) => {
      const address = await ses.newInbox();
      const trap = ses.proxy.trap({ sees: 'COMMIT', in: 'toServer', holds });
      await ses.notify({ recipients: [address], object: ses.put(message('Twice held')) });
      const caught = await trap.caught();
      await caught.answered();
      await ses.inbound.kill();
      expect({ messages: await ses.storedCount(address), waiting: await ses.backlog() }).toEqual(left);
      caught.cut(); // the proxy held back the end of the connection, too
      await ses.startInbound();
      await ses.system.db.query('update ses_mail set due_at = now()'); // as when the lease ends
      await ses.expectOnce(address);
    },
    120_000,
  );

  test('is released at SIGTERM when S3 does not take its bytes, so that it does not wait for the end of its lease', async () => {
    const address = await ses.newInbox();
    const before = ses.requestCount('PutObject');
    ses.s3.fail(serviceHang, { operation: 'PutObject' });
    try {
      await ses.notify({ recipients: [address], object: ses.put(message('Given back')) });
      await ses.s3.waitForRequests('PutObject', before + 1);
      expect(await ses.inbound.stop()).toBe(0);
    } finally {
      ses.s3.heal();
    }
    expect(ses.inbound.log.map(({ msg }) => msg)).not.toContain('stop cut short at the deadline');
    expect(
      await ses.system.db.query(`select claim, due_at < now() + interval '1 minute' as soon from ses_mail`),
    ).toEqual([{ claim: 1, soon: true }]);
    await ses.startInbound();
    await ses.expectOnce(address);
  });
});
