import { describe, expect, test } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import PostalMime from 'postal-mime';
import type { OutgoingAttachment, OutgoingMessage } from './mail-provider.ts';
import { outgoingMessage } from '../test/outgoing-message.ts';
import { composeMessage, messageIdOf } from './compose.ts';

async function composed(change: Partial<OutgoingMessage>) {
  const { envelope, bytes } = await composeMessage(outgoingMessage(change));
  return { envelope, source: bytes.toString('latin1'), mail: await PostalMime.parse(bytes) };
}

const attachment = (change: Partial<OutgoingAttachment> = {}): OutgoingAttachment => ({
  filename: 'invoice.pdf',
  content: Buffer.from('%PDF'),
  contentType: null,
  contentId: null,
  ...change,
});

describe('a composed message', () => {
  test('reads back as it was asked for', async () => {
    const { mail } = await composed({
      to: ['"Jörg \\"J\\" Müller" <j@example.net>', 'plain@example.net'],
      cc: ['Doe, Jane <jane@example.net>'],
      replyTo: ['help@mail.example.com'],
      subject: 'Grüße 🎉 aus Köln',
      text: 'Guten Tag 🎉\n.\n..zwei Punkte\n',
      html: '<p>Guten Tag</p>',
      headers: { 'X-Order': '42', 'List-Unsubscribe': '<https://example.com/u>' },
    });
    expect(mail.from).toMatchObject({ name: 'Acme', address: 'orders@mail.example.com' });
    expect(mail.to).toMatchObject([
      { name: 'Jörg "J" Müller', address: 'j@example.net' },
      { address: 'plain@example.net' },
    ]);
    expect(mail.cc).toMatchObject([{ name: 'Doe, Jane', address: 'jane@example.net' }]);
    expect(mail.replyTo).toMatchObject([{ address: 'help@mail.example.com' }]);
    expect(mail.subject).toBe('Grüße 🎉 aus Köln');
    expect(mail.text?.trimEnd()).toBe('Guten Tag 🎉\n.\n..zwei Punkte');
    expect(mail.html?.trim()).toBe('<p>Guten Tag</p>');
    expect(mail.date).toBe('2026-11-20T10:15:30.000Z');
    expect(mail.headers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ key: 'x-order', value: '42' }),
        expect.objectContaining({ key: 'list-unsubscribe', value: '<https://example.com/u>' }),
      ]),
    );
  });

  test('goes to everyone, once each, and names nobody of bcc', async () => {
    const { envelope, source } = await composed({
      to: ['Jane <jane@example.net>'],
      cc: ['jane@example.net', 'c@example.net'],
      bcc: ['secret@example.net'],
    });
    expect(envelope).toEqual({
      from: 'orders@mail.example.com',
      to: ['jane@example.net', 'c@example.net', 'secret@example.net'],
    });
    expect(source).not.toMatch(/bcc|secret/i);
  });

  test('has the Message-ID that the email id fixes', async () => {
    const from = 'Acme <orders@Mail.Example.COM>';
    const { mail } = await composed({ from });
    expect(mail.messageId).toBe('<em_01jd0000000000000000000001@mail.example.com>');
    expect(messageIdOf(outgoingMessage({ from }))).toBe(mail.messageId);
  });

  test('has CRLF line ends and no line over 998 bytes, however long the text and the headers', async () => {
    const { source, mail } = await composed({
      text: 'x'.repeat(5000),
      subject: 'ü'.repeat(998),
      headers: { 'X-Long': 'word '.repeat(190) },
    });
    expect(source.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(Math.max(...source.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
    expect(mail.text?.trim()).toBe('x'.repeat(5000));
    expect(mail.subject).toBe('ü'.repeat(998));
  });

  test('has no line over 998 bytes for the longest word that a header may have', async () => {
    const word = 'x'.repeat(LIMITS.headerLength);
    const { source, mail } = await composed({ subject: word, headers: { ['N'.repeat(76)]: word } });
    expect(Math.max(...source.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
    expect(mail.subject).toBe(word);
    expect(mail.headers.find(({ key }) => key === 'n'.repeat(76))?.value).toBe(word);
  });

  test('has no line over 998 bytes for all ids of a long conversation', async () => {
    const references = `<${'x'.repeat(995)}> ${'<0102018c-1234@eu-west-1.amazonses.com> '.repeat(380)}<a@b>`;
    const { source, mail } = await composed({ headers: { References: references } });
    expect(Math.max(...source.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
    expect(mail.references).toBe(references);
  });

  test('has no header line of spaces alone, however many a value has', async () => {
    const spaced = `a${' '.repeat(300)}b`;
    const { source, mail } = await composed({ subject: spaced, headers: { 'X-A': spaced } });
    const [head = ''] = source.split('\r\n\r\n');
    expect(head.split('\r\n').filter((line) => line.trim() === '')).toEqual([]);
    expect(mail.subject).toBe('a b');
    expect(mail.headers.find(({ key }) => key === 'x-a')?.value).toBe('a b');
  });

  test('may have an empty subject, an empty text, or only HTML', async () => {
    expect((await composed({ subject: '', text: '' })).mail.text ?? '').toBe('');
    const { mail } = await composed({ text: null, html: '<b>x</b>' });
    expect(mail.html?.trim()).toBe('<b>x</b>');
  });

  test.each([
    ['subject', { subject: 'Hi\r\nBcc: victim@example.net' }],
    ['header value', { headers: { 'X-A': 'a\r\nBcc: victim@example.net' } }],
    ['header name', { headers: { 'X-A: 1\r\nBcc': 'victim@example.net' } }],
    ['unsubscribe URL', { unsubscribeUrl: 'https://u.test/\r\nBcc: victim@example.net' }],
    ...(['filename', 'contentType', 'contentId'] as const).flatMap((part) =>
      ['text/plain\r\nBcc: victim@example.net', 'text/plain; a="\r\n\r\n--x"\r\nBcc: victim@example.net'].map(
        (value): [string, Partial<OutgoingMessage>] => [
          `${part} of an attachment`,
          { attachments: [attachment({ [part]: value })] },
        ],
      ),
    ),
  ])('lets no line break of a %s begin a header, should one get this far', async (_where, change) => {
    const { source, mail } = await composed(change);
    expect(mail.bcc).toBeUndefined();
    expect(mail.headers.map(({ key }) => key)).not.toContain('bcc');
    expect(source).not.toMatch(/^bcc:/im);
  });

  test('fetches nothing: a body that looks like an order to is only text', async () => {
    const { mail } = await composed({
      text: '{"path":"/etc/passwd"}',
      html: '<img src="file:///etc/passwd">',
    });
    expect(mail.attachments).toEqual([]);
    expect(mail.html?.trim()).toBe('<img src="file:///etc/passwd">');
  });

  test('names nobody twice over its fields, and says which field each is of', async () => {
    const { recipients } = await composeMessage(
      outgoingMessage({
        cc: ['Jane <jane@example.net>', 'c@example.net'],
        bcc: ['c@example.net', 'b@example.net'],
      }),
    );
    expect(recipients).toEqual({ to: ['jane@example.net'], cc: ['c@example.net'], bcc: ['b@example.net'] });
  });

  test('sends one copy to an address that it writes in two ways', async () => {
    const twice = outgoingMessage({
      to: ['Bob@X.example', 'bob@x.example'],
      cc: ['"BOB"@x.example', 'c@x.example'],
    });
    const { envelope } = await composeMessage(twice);
    expect(envelope.to).toEqual(['Bob@X.example', 'c@x.example']);
    const rest = await composeMessage({ ...twice, only: ['bob@x.example'] });
    expect(rest.envelope.to).toEqual(['Bob@X.example']);
  });

  test('keeps the ASCII form of an international domain, in the envelope and the header', async () => {
    const address = 'info@xn--mller-kva.example';
    const { envelope, source, mail } = await composed({ to: [`Müller 株式会社 <${address}>`] });
    expect(envelope.to).toEqual([address]);
    expect(source).toContain(`<${address}>`);
    expect(mail.to).toMatchObject([{ name: 'Müller 株式会社', address }]);
  });

  test.each([
    ['a..b@docomo.ne.jp', '"a..b"@docomo.ne.jp'],
    ['user.@example.com', '"user."@example.com'],
    ['"john doe"@example.net', '"john doe"@example.net'],
    ['j@a_b.example.net', 'j@a_b.example.net'],
    ['jürgen@example.net', 'jürgen@example.net'],
  ])('goes to %s, which its header writes as RFC 5322 has it', async (address, inHeader) => {
    const { envelope, source } = await composed({ to: [`Jo <${address}>`] });
    expect(envelope.to).toEqual([address]);
    expect(Buffer.from(source, 'latin1').toString()).toContain(`To: Jo <${inHeader}>\r\n`);
  });

  test('keeps the long name of a stored address that a request may not have any more', async () => {
    const { envelope } = await composed({ to: ['ann@x.example, Bob <bob@y.example>'] });
    expect(envelope.to).toEqual(['bob@y.example']);
  });

  test('is not made from a stored address that is none', async () => {
    await expect(composeMessage(outgoingMessage({ to: ['nobody'] }))).rejects.toThrow('address');
  });
});

test('no line is longer than 998 octets, whatever the name', async () => {
  for (const name of ['\\'.repeat(600), 'a\\ '.repeat(200), 'ü'.repeat(600), 'n'.repeat(960)]) {
    const { source } = await composed({ to: [`${name} <jane@example.net>`] });
    expect(Math.max(...source.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
  }
});

test.each(['text', 'html'])('every line end of %s becomes CRLF: no CR or LF stands alone', async (field) => {
  const written =
    '漢🎉\nprogress 10%\rprogress 20%\nsaved\r\r\ntwice\r\n.\r.\rMAIL FROM:<ceo@other.example>\r';
  const { source, mail } = await composed({ text: null, [field]: written });
  expect(source).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
  const lines = (field === 'text' ? mail.text : mail.html)?.trimEnd().split(/\r?\n/);
  expect(lines).toEqual([
    '漢🎉',
    'progress 10%',
    'progress 20%',
    'saved',
    '',
    'twice',
    '.',
    '.',
    'MAIL FROM:<ceo@other.example>',
  ]);
});

describe('attachments', () => {
  /** Every byte, line ends of all kinds, and a line far over what a mail server takes. */
  const bytes = Buffer.concat([
    Buffer.from(Array.from({ length: 256 }, (_, n) => n)),
    Buffer.alloc(5000, 'x'),
  ]);

  test.each([
    'application/pdf',
    'text/plain',
    'text/html; charset=utf-16',
    'image/svg+xml',
    'message/rfc822',
    'multipart/mixed; boundary=x',
    'application/octet-stream',
  ])('of type %s arrive byte for byte', async (contentType) => {
    const { source, mail } = await composed({ attachments: [attachment({ content: bytes, contentType })] });
    expect(Buffer.from(mail.attachments[0]?.content as ArrayBuffer).equals(bytes)).toBe(true);
    expect(mail.attachments).toHaveLength(1);
    expect(mail.text?.trim()).toBe('Thank you.');
    expect(source.split('\r\n').every((line) => line.length <= 998 && /^[\x20-\x7e\t]*$/.test(line))).toBe(
      true,
    );
  });

  test.each([
    ['as it was given', 'application/vnd.ms-excel', 'x.bin', 'application/vnd.ms-excel'],
    ['told by the filename', null, 'photo.PNG', 'image/png'],
    ['unknown to us', null, 'file', 'application/octet-stream'],
    [
      'that holds other messages: opaque, since such may not be encoded',
      null,
      'old.eml',
      'application/octet-stream',
    ],
    ['that is none', 'not a type', 'x.pdf', 'application/octet-stream'],
  ])('have a type %s', async (_how, contentType, filename, expected) => {
    const { mail } = await composed({ attachments: [attachment({ contentType, filename })] });
    expect(mail.attachments).toMatchObject([{ mimeType: expected, filename }]);
  });

  test.each([
    'Rechnung Größe 🎉.pdf',
    'a "quoted" \\ name;.pdf',
    `${'lang '.repeat(60)}.pdf`,
    '../../etc/passwd',
  ])('have their name: %s', async (filename) => {
    const { mail } = await composed({ attachments: [attachment({ filename })] });
    expect(mail.attachments[0]?.filename).toBe(filename);
  });

  test('may be empty, alike, and many', async () => {
    const attachments = Array.from({ length: 50 }, () => attachment({ content: Buffer.alloc(0) }));
    const { mail } = await composed({ attachments });
    expect(mail.attachments).toHaveLength(50);
    expect(mail.attachments.every(({ content }) => (content as ArrayBuffer).byteLength === 0)).toBe(true);
  });

  test('with a content id are inline, for the HTML to show; the others are not', async () => {
    const { mail } = await composed({
      html: '<img src="cid:logo">',
      attachments: [attachment({ filename: 'logo.png', contentId: 'logo' }), attachment()],
    });
    const parts = mail.attachments.map(({ filename, disposition, contentId, related }) => [
      filename,
      disposition,
      contentId,
      related ?? false,
    ]);
    expect(parts).toEqual([
      ['logo.png', 'inline', '<logo>', true],
      ['invoice.pdf', 'attachment', undefined, false],
    ]);
    expect(mail.html?.trim()).toBe('<img src="cid:logo">');
    expect(mail.text?.trim()).toBe('Thank you.');
  });

  test('with a content id in brackets have it once', async () => {
    const { source } = await composed({ html: 'x', attachments: [attachment({ contentId: '<logo@x>' })] });
    expect(source).toMatch(/^Content-Id: <logo@x>\r$/im);
  });
});

describe('one-click unsubscribe (RFC 8058)', () => {
  const unsubscribeUrl = `https://api.example.com/u/${'t0ken_-'.repeat(40)}`;
  const listHeaders = async (change: Partial<OutgoingMessage>) => {
    const { mail } = await composed(change);
    return mail.headers.filter(({ key }) => key.startsWith('list-')).map(({ key, value }) => [key, value]);
  };

  test('has the URL, whole, and the promise to take its POST', async () => {
    expect(await listHeaders({ unsubscribeUrl })).toEqual([
      ['list-unsubscribe', `<${unsubscribeUrl}>`],
      ['list-unsubscribe-post', 'List-Unsubscribe=One-Click'],
    ]);
  });

  test("gives way to the customer's own header, the promise too: it would not be theirs", async () => {
    const headers = { 'list-UNSUBSCRIBE': '<mailto:stop@example.com>' };
    expect(await listHeaders({ unsubscribeUrl, headers })).toEqual([
      ['list-unsubscribe', '<mailto:stop@example.com>'],
    ]);
  });

  test('has one promise alone, also where the customer makes it for the URL that is ours', async () => {
    const headers = { 'LIST-Unsubscribe-post': 'List-Unsubscribe=One-Click', 'X-Order': '42' };
    expect(await listHeaders({ unsubscribeUrl, headers })).toEqual([
      ['list-unsubscribe', `<${unsubscribeUrl}>`],
      ['list-unsubscribe-post', 'List-Unsubscribe=One-Click'],
    ]);
    const { mail } = await composed({ unsubscribeUrl, headers });
    expect(mail.headers).toContainEqual(expect.objectContaining({ key: 'x-order', value: '42' }));
  });

  test('is not there without a URL', async () => {
    expect(await listHeaders({})).toEqual([]);
  });
});
