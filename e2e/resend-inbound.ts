import { expect, test } from '@jest/globals';
import type { ListInboxThreadsOptions, ListReceivingEmailsResponseSuccess } from 'resend';
import { answerOf, dataOf } from './resend-setup.ts';
import type { ResendSetup } from './resend-setup.ts';
import { sendMail } from './send-mail.ts';

/** Defines the tests of received mail: Resend's own SDK reads, answers and manages it. */
export function testReceivedMail(sdk: ResendSetup): void {
  test('the SDK creates, lists, reads, updates and removes inboxes, by id and by address', async () => {
    await sdk.verifiedDomain('shop.example');
    const emailAddress = 'support@shop.example';
    const created = await dataOf(() => sdk.resend.inboxes.create({ emailAddress, fromName: 'Support' }));
    expect(created).toEqual({ object: 'inbox', id: expect.any(String) });
    const entry = {
      id: created.id,
      name: emailAddress,
      email_address: emailAddress,
      from_name: 'Support',
      unread: 0,
      last_received: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    };
    const list = { object: 'list', has_more: false, data: [entry] };
    expect(await dataOf(() => sdk.resend.inboxes.list())).toEqual(list);
    for (const named of [created.id, emailAddress]) {
      expect(await dataOf(() => sdk.resend.inboxes.get(named))).toMatchObject({ object: 'inbox', ...entry });
    }
    const renamed = { object: 'inbox', id: created.id };
    expect(await dataOf(() => sdk.resend.inboxes.update(emailAddress, { fromName: 'Help' }))).toEqual(
      renamed,
    );
    expect(await dataOf(() => sdk.resend.inboxes.get(created.id))).toMatchObject({
      name: emailAddress,
      from_name: 'Help',
    });
    expect(await dataOf(() => sdk.resend.inboxes.remove(created.id))).toEqual({
      object: 'inbox',
      id: created.id,
      deleted: true,
    });
    expect((await answerOf(() => sdk.resend.inboxes.get(created.id))).error).toMatchObject({ status: 404 });
  });

  test('the SDK lists and reads threads, marks them as read, and lists, reads and answers their emails', async () => {
    await sdk.verifiedDomain('shop.example');
    const emailAddress = 'support@shop.example';
    const { id: inboxId } = await dataOf(() => sdk.resend.inboxes.create({ emailAddress }));
    await sendMail(await sdk.smtpPort(), {
      from: 'Ann <ann@example.net>',
      to: emailAddress,
      subject: 'My order',
      text: 'Where is it?',
      messageId: '<1@example.net>',
      attachments: [{ filename: 'a.txt', content: 'hello' }],
    });

    const { data: threads } = await dataOf(() =>
      sdk.resend.inboxes.threads.list({ emailAddress, read: false }),
    );
    const threadId = threads[0]?.id ?? '';
    expect(threads).toEqual([
      {
        id: threadId,
        subject: 'My order',
        from: 'Ann <ann@example.net>',
        to: [emailAddress],
        cc: [],
        bcc: [],
        labels: [],
        email_count: 1,
        has_attachment: true,
        has_draft: false,
        read: false,
        received_at: expect.any(String),
        folder: 'inbox',
      },
    ]);
    const summary = {
      object: 'inbox_thread',
      id: threadId,
      subject: 'My order',
      folder: 'inbox',
      labels: [],
    };
    expect(await dataOf(() => sdk.resend.inboxes.threads.get({ inboxId, threadId }))).toEqual({
      ...summary,
      read: false,
    });
    expect(await dataOf(() => sdk.resend.inboxes.threads.update({ inboxId, threadId, read: true }))).toEqual({
      ...summary,
      read: true,
    });
    const listed = async (filter: Pick<ListInboxThreadsOptions, 'folders' | 'labels' | 'read'>) =>
      (await dataOf(() => sdk.resend.inboxes.threads.list({ inboxId, ...filter }))).data.map(({ id }) => id);
    expect(await listed({ read: false })).toEqual([]);
    expect(await listed({ read: true, folders: ['inbox', 'archive'] })).toEqual([threadId]);
    expect(await listed({ folders: ['archive', 'spam'] })).toEqual([]);
    expect(await listed({ labels: ['one', 'two'] })).toEqual([]);

    const { data: emails } = await dataOf(() =>
      sdk.resend.inboxes.threads.emails.list({ inboxId, threadId }),
    );
    const emailId = emails[0]?.id ?? '';
    expect(emails).toMatchObject([
      {
        direction: 'inbound',
        from: 'Ann <ann@example.net>',
        to: [emailAddress],
        subject: 'My order',
        message_id: '<1@example.net>',
        attachments: [{ filename: 'a.txt', size: 5 }],
        read: true,
      },
    ]);
    const read = await dataOf(() => sdk.resend.inboxes.threads.emails.get({ inboxId, threadId, emailId }));
    expect(read).toMatchObject(emails[0] ?? {});

    const reply = {
      inboxId,
      threadId,
      emailId,
      text: 'On its way.',
      replyAll: true,
      cc: 'ben@example.net',
      bcc: ['boss@example.net'],
      headers: { 'X-Case': '7' },
      attachments: [{ filename: 'b.txt', content: Buffer.from('there') }],
    };
    const replied = () => sdk.resend.inboxes.threads.emails.reply(reply, { idempotencyKey: 'reply-1' });
    const { id } = await dataOf(replied);
    expect(await dataOf(replied)).toEqual({ id });
    await sdk.ses.waitForRequests('SendEmail', 1, 30_000);
    expect(sdk.ses.messages).toMatchObject([
      {
        destination: {
          ToAddresses: ['ann@example.net'],
          CcAddresses: ['ben@example.net'],
          BccAddresses: ['boss@example.net'],
        },
        mail: {
          from: { address: emailAddress },
          subject: 'Re: My order',
          inReplyTo: '<1@example.net>',
          headers: expect.arrayContaining([expect.objectContaining({ key: 'x-case', value: '7' })]),
          attachments: [{ filename: 'b.txt' }],
        },
      },
    ]);
    const { data: both } = await dataOf(() => sdk.resend.inboxes.threads.emails.list({ inboxId, threadId }));
    expect(both.map(({ direction }) => direction).sort()).toEqual(['inbound', 'outbound']);
  });

  test('the SDK lists and reads received mail and its attachments, and forwards a message whole', async () => {
    await sdk.verifiedDomain('shop.example');
    await dataOf(() => sdk.resend.inboxes.create({ emailAddress: 'support@shop.example' }));
    await sendMail(await sdk.smtpPort(), {
      from: 'Ann <ann@example.net>',
      to: 'support@shop.example',
      subject: 'My order',
      text: 'Where is it?',
      messageId: '<1@example.net>',
      attachments: [{ filename: 'a.txt', content: 'hello' }],
    });
    const { data: list } = await dataOf<ListReceivingEmailsResponseSuccess>(() =>
      sdk.resend.emails.receiving.list(),
    );
    const emailId = list[0]?.id ?? '';
    const shown = {
      id: emailId,
      from: 'Ann <ann@example.net>',
      to: ['support@shop.example'],
      subject: 'My order',
      message_id: '<1@example.net>',
      attachments: [{ filename: 'a.txt', size: 5, content_type: 'text/plain' }],
    };
    expect(list).toMatchObject([shown]);
    const read = await dataOf(() => sdk.resend.emails.receiving.get(emailId));
    expect(read).toMatchObject({ object: 'email', ...shown, headers: { subject: 'My order' } });
    expect(read.text?.trim()).toBe('Where is it?');
    const { data: files } = await dataOf(() => sdk.resend.emails.receiving.attachments.list({ emailId }));
    const id = files[0]?.id ?? '';
    const file = await dataOf(() => sdk.resend.emails.receiving.attachments.get({ emailId, id }));
    expect(file).toMatchObject({
      object: 'attachment',
      filename: 'a.txt',
      content_disposition: 'attachment',
    });
    expect(await (await fetch(file.download_url)).text()).toBe('hello');

    const forwarded = { emailId, from: 'support@shop.example', to: 'boss@example.net' };
    await dataOf(() => sdk.resend.emails.receiving.forward(forwarded));
    const [copy] = await sdk.messagesAtProvider(['My order']);
    expect(copy?.destination).toMatchObject({ ToAddresses: ['boss@example.net'] });
    expect(copy?.mail.attachments).toMatchObject([{ filename: 'a.txt' }]);
    expect(copy?.mail.text?.trim()).toBe('Where is it?');
  });

  test('the SDK searches threads, forwards an email of a thread, and removes a thread', async () => {
    await sdk.verifiedDomain('shop.example');
    const emailAddress = 'support@shop.example';
    const { id: inboxId } = await dataOf(() => sdk.resend.inboxes.create({ emailAddress }));
    for (const [subject, messageId] of [
      ['My order', '<8@example.net>'],
      ['Other', '<5@example.net>'],
    ] as const) {
      await sendMail(await sdk.smtpPort(), {
        from: 'Ann <ann@example.net>',
        to: emailAddress,
        subject,
        text: 'Where is it?',
        messageId,
        attachments: [{ filename: 'a.txt', content: 'hello' }],
      });
    }
    const { threads } = sdk.resend.inboxes;
    const { data: found } = await dataOf(() =>
      threads.search({
        inboxId,
        query: 'ORDER',
        from: ['ann@', 'ben@'],
        hasAttachment: true,
        startDate: '2020-01-01',
      }),
    );
    const threadId = found[0]?.id ?? '';
    const emailId = found[0]?.matched_email_id ?? '';
    expect(found).toMatchObject([
      { subject: 'My order', email_count: 1, matched_email_id: expect.any(String) },
    ]);
    const nothing = await dataOf(() => threads.search({ emailAddress, to: ['nobody@'], folders: ['inbox'] }));
    expect(nothing).toEqual({ object: 'list', has_more: false, data: [] });

    const forward = { inboxId, threadId, emailId, to: 'boss@example.net', text: 'See below' };
    const forwarded = () => threads.emails.forward(forward, { idempotencyKey: 'forward-1' });
    const { id } = await dataOf(forwarded);
    expect(await dataOf(forwarded)).toEqual({ id });
    const [copy] = await sdk.messagesAtProvider(['Fwd: My order']);
    expect(copy?.destination).toMatchObject({ ToAddresses: ['boss@example.net'] });
    expect(copy?.mail).toMatchObject({
      from: { address: emailAddress },
      inReplyTo: '<8@example.net>',
      text: expect.stringMatching(/^See below\n\n-+ Forwarded message -+\nFrom: Ann [^]*Where is it\?/),
      attachments: [{ filename: 'a.txt', mimeType: 'text/plain' }],
    });

    expect(await dataOf(() => threads.remove({ inboxId, threadId }))).toEqual({
      object: 'inbox_thread',
      id: threadId,
      deleted: true,
    });
    const { data: left } = await dataOf(() => threads.list({ inboxId }));
    expect(left).toMatchObject([{ subject: 'Other' }]);
  });
}
