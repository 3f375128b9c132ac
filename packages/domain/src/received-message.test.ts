import { describe, expect, test } from '@jest/globals';
import { messageRecord, wholeMessageRecord } from './received-message.ts';
import type { ReceivedMessage } from './received-message.ts';
import type { AccountId, AttachmentId, MessageId } from './ids.ts';

const KIB = 1024;
const ENVELOPE = '\u{1f4e8}'; // four bytes, two units of UTF-16

const MESSAGE: ReceivedMessage = {
  id: 'msg_1' as MessageId,
  accountId: 'acct_1' as AccountId,
  kind: 'live',
  status: 'received',
  inboxId: null,
  threadId: null,
  ruleId: null,
  messageId: null,
  inReplyTo: null,
  from: '',
  to: [],
  cc: [],
  replyTo: [],
  receivedFor: [],
  subject: null,
  text: null,
  receivedAt: new Date(0),
  size: 1,
  attachments: [],
  automatic: false,
  heldReason: null,
  complete: true,
  auth: { spf: 'none', dkim: 'none', dmarc: 'none' },
};

describe('the text of a record', () => {
  const textOf = (text: string) => {
    const { text: cut, text_truncated: truncated } = messageRecord({ ...MESSAGE, text });
    return { cut, truncated };
  };

  test.each([
    ['a', 'x'.repeat(16 * KIB)],
    ['é', 'é'.repeat(8 * KIB)],
    [ENVELOPE, ENVELOPE.repeat(4 * KIB)],
  ])('is whole up to 16 KiB, of %s', (_, text) => {
    expect(textOf(text)).toEqual({ cut: text, truncated: false });
  });

  test.each([
    ['a', 0, 'x'.repeat(16 * KIB)],
    ['é', 1, `x${'é'.repeat(8 * KIB - 1)}`],
    ['€', 0, '€'.repeat(5_461)],
    [ENVELOPE, 1, `x${ENVELOPE.repeat(4 * KIB - 1)}`],
    [ENVELOPE, 3, `xxx${ENVELOPE.repeat(4 * KIB - 1)}`],
  ])('is cut before the character that does not fit: %s behind %i bytes', (character, before, cut) => {
    const unit = character === 'a' ? 'x' : character;
    expect(textOf('x'.repeat(before) + unit.repeat(17 * KIB))).toEqual({ cut, truncated: true });
  });
});

describe('a record', () => {
  const many = Array.from({ length: 101 }, (_, n) => `a${n}@a.example`);
  const name = ENVELOPE.repeat(999);
  const large: ReceivedMessage = {
    ...MESSAGE,
    to: many,
    cc: many,
    replyTo: many,
    receivedFor: many,
    subject: name,
    messageId: `${name}@a.example`,
    inReplyTo: name,
    text: 'x'.repeat(20 * KIB),
    attachments: many.map((_, n) => ({
      id: `att_${n}` as AttachmentId,
      filename: name,
      contentType: name,
      contentId: name,
      size: 1,
    })),
  };

  test('has the first 100 of each list', () => {
    const files = large.attachments.map((file) => ({
      ...file,
      filename: 'f',
      contentType: 'c',
      contentId: null,
    }));
    const record = messageRecord({ ...large, attachments: files });
    for (const list of [record.to, record.cc, record.reply_to, record.received_for])
      expect(list).toEqual(many.slice(0, 100));
    expect(record.attachments.map(({ id }) => id)).toEqual(files.slice(0, 100).map(({ id }) => id));
  });

  test('has 998 characters of each name', () => {
    const record = messageRecord({ ...large, attachments: large.attachments.slice(0, 1) });
    const cut = ENVELOPE.repeat(998);
    expect(record).toMatchObject({ subject: cut, message_id: `<${cut}>`, in_reply_to: `<${cut}>` });
    expect(record.attachments).toEqual([
      { id: 'att_0', filename: cut, content_type: cut, content_id: cut, size: 1 },
    ]);
  });

  test('has half of the text, the lists and the names of files while its JSON has over 64 KiB', () => {
    const longName = '\u6f22'.repeat(998);
    const attachments = large.attachments.map((file) => ({
      ...file,
      filename: longName,
      contentType: 'image/png',
      contentId: longName,
    }));
    const record = messageRecord({ ...large, attachments });
    const name = longName.slice(0, 249);
    expect(Buffer.byteLength(JSON.stringify(record))).toBeLessThanOrEqual(64 * KIB);
    expect(record).toMatchObject({ text: 'x'.repeat(4 * KIB), text_truncated: true });
    expect(record.message_id).toBe(`<${ENVELOPE.repeat(998)}>`);
    expect(record.to).toEqual(many.slice(0, 25));
    expect(record.attachments).toHaveLength(25);
    expect(record.attachments.at(-1)).toMatchObject({ filename: name, content_id: name });
  });

  test.each([
    ['a text that JSON escapes', { text: '\u0001'.repeat(16 * KIB) }],
    ['long addresses', { to: Array.from({ length: 100 }, () => `${'\u6f22'.repeat(998)} <a@a.example>`) }],
  ])('has at most 64 KiB of JSON with %s', (_, change) => {
    const record = messageRecord({ ...MESSAGE, ...change });
    const bytes = Buffer.byteLength(JSON.stringify(record));
    expect(bytes).toBeLessThanOrEqual(64 * KIB);
    expect(bytes).toBeGreaterThan(32 * KIB);
  });

  test('that is asked for by its id has all of them', () => {
    const record = wholeMessageRecord(large, '<p>');
    for (const list of [record.to, record.cc, record.reply_to, record.received_for])
      expect(list).toEqual(many);
    expect(record).toMatchObject({ subject: name, text: large.text, text_truncated: false });
    expect(record).toMatchObject({ html: '<p>', html_truncated: false });
    expect(record.attachments).toHaveLength(101);
    expect(record.attachments.at(-1)).toMatchObject({ filename: name });
  });

  test.each([
    ['of one byte', 'a', 1024 * 1024],
    ['of six bytes in JSON', '\u0001', 1024 * 1024],
    ['of three bytes', '€', 349_525],
    ['of four bytes and two code units', '😀', 262_144],
  ])('that is asked for by its id has 1 MiB of text and of HTML: characters %s', (_, character, fits) => {
    const whole = character.repeat(fits);
    const record = (body: string) => wholeMessageRecord({ ...MESSAGE, text: body }, body);
    const cut = { text: whole, text_truncated: true, html: whole, html_truncated: true };
    expect(record(whole + character)).toMatchObject(cut);
    expect(record(whole)).toMatchObject({ ...cut, text_truncated: false, html_truncated: false });
  });
});
