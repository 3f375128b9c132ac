import { describe, expect, test } from '@jest/globals';
import { EICAR, fetchMetrics, waitFor } from '@postrider/testing';
import { BUCKET, DOMAIN, message, PATIENCE_MS, setupSesInbound } from './ses-inbound.ts';

/* Mail that SES receives: from the notification by SNS, through real processes and a bucket, to a webhook. */

const TEN_MIB = 10 * 1024 * 1024;

const ses = setupSesInbound();

describe('mail that SES has put into a bucket', () => {
  test('arrives as message.received with the bytes and verdicts of SES, and our scanners do not see it', async () => {
    const address = await ses.newInbox();
    const bytes = message('In a bucket', EICAR);
    const verdicts = { spfVerdict: 'GRAY', dkimVerdict: 'PASS', dmarcVerdict: 'PROCESSING_FAILED' };
    await ses.notify({
      recipients: [address],
      object: ses.put(bytes),
      verdicts,
      source: 'bounce@shop.example',
    });
    const { type, data } = await ses.event(address);
    expect({ type, data }).toMatchObject({
      type: 'message.received',
      data: {
        status: 'received',
        subject: 'In a bucket',
        received_for: [address],
        size: bytes.length,
        auth: { spf: 'neutral', dkim: 'pass', dmarc: 'temperror' },
      },
    });
    const link = await ses.call('GET', `/v1/inbound/messages/${data.id}/raw`);
    const raw = await fetch(String(link['download_url']));
    expect(Buffer.from(await raw.arrayBuffer())).toEqual(bytes);
    expect(ses.clamd.streams).toEqual([]);
    await ses.expectOnce(address);
  });

  test('is held when the verdicts of SES fail DMARC under p=quarantine', async () => {
    const address = await ses.newInbox();
    const verdicts = { dmarcVerdict: 'FAIL', dmarcPolicy: 'quarantine' };
    await ses.notify({ recipients: [address], object: ses.put(message('Failed')), verdicts });
    expect(await ses.event(address)).toMatchObject({
      type: 'message.held',
      data: { status: 'held', held_reason: 'auth_failed', thread_id: null },
    });
  }, 90_000);

  test('is taken in when it has exactly 10 MiB', async () => {
    const address = await ses.newInbox();
    const head = message('Big');
    await ses.notify({
      recipients: [address],
      object: ses.put(Buffer.concat([head, Buffer.alloc(TEN_MIB - head.length, 'x\r\n')])),
    });
    expect((await ses.event(address)).data['size']).toBe(TEN_MIB);
  });

  test('is refused when it is gone or over 10 MiB, and the refusal is counted and logged', async () => {
    const address = await ses.newInbox();
    const refused = {
      gone: { bucket: BUCKET, key: 'mail/nowhere' },
      too_big: ses.put(Buffer.alloc(TEN_MIB + 1)),
    };
    for (const [reason, object] of Object.entries(refused)) {
      const before = await ses.metric(`result="refused",reason="${reason}"`);
      const id = await ses.notify({ recipients: [address], object, messageId: `ses-${reason}` });
      const line = await waitFor(() => ses.inbound.log.find((each) => each['sns_message_id'] === id), {
        what: 'its line in the log',
        timeoutMs: PATIENCE_MS,
      });
      expect(line).toMatchObject({
        msg: 'message.refused',
        level: 'warn',
        reason,
        ses_message_id: `ses-${reason}`,
      });
      expect(await ses.metric(`result="refused",reason="${reason}"`)).toBe(before + 1);
    }
    await ses.untilTakenIn();
    expect(await ses.storedCount(address)).toBe(0);
  });

  test('is refused by the API when the bucket is not in INBOUND_S3_BUCKETS', async () => {
    const address = await ses.newInbox();
    const object = ses.put(message('Elsewhere'), 'mail-of-others');
    await ses.notify({ recipients: [address], object });
    const page = await fetchMetrics(await ses.all.port());
    expect(page.read('postrider_provider_notifications_total{result="bucket_refused"}')).toBe(1);
    expect(await ses.backlog()).toBe(0);
    expect(ses.s3.requests.map(({ bucket }) => bucket)).not.toContain('mail-of-others');
  });
});

describe('mail that the SNS action brings', () => {
  test('arrives, in either encoding', async () => {
    for (const encoding of ['utf8', 'base64'] as const) {
      const address = await ses.newInbox();
      await ses.notify({ recipients: [address], content: message(`As ${encoding}`).toString(encoding) });
      expect(await ses.event(address)).toMatchObject({
        type: 'message.received',
        data: { subject: `As ${encoding}`, text: expect.stringContaining('It is late.') as unknown },
      });
    }
  });

  test('makes no second event when it comes again, by the same notification or by another one', async () => {
    const address = await ses.newInbox();
    const bytes = message('Twice');
    const wish = { recipients: [address], content: bytes.toString('utf8') };
    const id = await ses.notify(wish);
    await ses.event(address);
    await ses.notify(wish, id);
    const before = await ses.metric('result="repeated"');
    await ses.notify({ recipients: [address], object: ses.put(bytes) }); // the S3 action of the same rule
    await waitFor(async () => (await ses.metric('result="repeated"')) > before, { what: 'the repetition' });
    await ses.expectOnce(address);
  });

  test('ends without a retry when no inbox has its address, and is counted and logged', async () => {
    const before = await ses.metric('result="nobody"');
    const address = `nobody@${DOMAIN}`;
    const id = await ses.notify({
      recipients: [address],
      content: message('To nobody').toString('utf8'),
    });
    await waitFor(async () => (await ses.metric('result="nobody"')) > before, { what: 'it to end' });
    await ses.untilTakenIn();
    expect(await ses.storedCount(address)).toBe(0);
    expect(ses.inbound.log).toContainEqual(
      expect.objectContaining({ msg: 'message.nobody', level: 'info', sns_message_id: id }),
    );
  });
});
