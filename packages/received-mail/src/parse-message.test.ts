import { describe, expect, test } from '@jest/globals';
import { parseMessage } from './parse-message.ts';

const FROM = 'From: Ann <ann@sender.example>\r\n';
const parse = (text: string) => parseMessage(Buffer.from(text, 'latin1'));
const withPart = (header: string, content: string) =>
  parse(
    `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nbody\r\n--b\r\n${header}\r\n\r\n${content}\r\n--b--\r\n`,
  );

describe('a part', () => {
  test('of two padded pieces of base64 is whole', async () => {
    const pieces = 'UEsDBBQAAAAIAA==\r\nemVkIGZpbGUgY29udGVudA==';
    const header = 'Content-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64';
    const { attachments } = await withPart(header, pieces);
    expect(attachments.map(({ content }) => content.toString('latin1'))).toEqual([
      'PK\x03\x04\x14\0\0\0\b\0zed file content',
    ]);
  });

  test.each(['text', 'html'] as const)('that is named and inline is the body: %s', async (kind) => {
    const type = kind === 'text' ? 'plain' : 'html';
    const message = await parse(
      `${FROM}Content-Type: text/${type}\r\nContent-Disposition: inline; filename=a.txt\r\n\r\nhello`,
    );
    expect(message).toMatchObject({ [kind]: 'hello', attachments: [] });
  });

  test.each([
    ['application-x-gzip; name="a.xml.gz"', 'a.xml.gz'],
    ['BINARY; name="Alice"', 'Alice'],
    ['PDF; name="d.pdf"', 'd.pdf'],
  ])('of an unreadable type with a name is a file: %s', async (type, filename) => {
    const { text, attachments } = await withPart(`Content-Type: ${type}`, '%PDF');
    expect(text).toBe('body');
    expect(attachments).toEqual([
      { filename, contentType: 'application/octet-stream', contentId: null, content: Buffer.from('%PDF') },
    ]);
  });
});

describe('a part without a name', () => {
  const namesOf = async (type: string, content: string) =>
    (await withPart(`Content-Type: ${type}`, content)).attachments.map(({ filename }) => filename);

  test.each([
    ['Subject: hello', 'hello.eml'],
    ['From: a@b\r\nsubject :\r\n =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n an alle\r\nTo: a@b', 'Grüße an alle.eml'],
    ['Subject: Re: a/b\\c "d" <e>|f?*', 'Re_ a_b_c _d_ _e__f__.eml'],
    ['Subject: ../../etc/passwd', '_.._etc_passwd.eml'],
    ['Subject: =?utf-8?q?a=0D=0A=00=E2=80=AEgpj.exe_=2E?=', 'a gpj.exe.eml'],
    [`Subject: ${'x'.repeat(59)}\u{1f600}y`, `${'x'.repeat(59)}\u{1f600}.eml`],
    ['Subject: ...', 'message.eml'],
    ['Subject:', 'message.eml'],
    ['From: a@b\r\n\r\nSubject: of the text', 'message.eml'],
    ['', 'message.eml'],
  ])('that is a message is named after its subject: %j', async (header, name) => {
    expect(await namesOf('message/rfc822', Buffer.from(`${header}\r\n\r\nHi`).toString('latin1'))).toEqual([
      name,
    ]);
  });

  test('that is a message with UTF-8 in its header (RFC 6532) is named after its subject', async () => {
    expect(await namesOf('message/global', 'Subject: hello\r\n\r\nHi')).toEqual(['hello.eml']);
  });

  test('that is an invitation is invite.ics', async () => {
    expect(await namesOf('text/calendar; method=REQUEST', 'BEGIN:VCALENDAR')).toEqual(['invite.ics']);
    expect(await namesOf('application/ics', 'BEGIN:VCALENDAR')).toEqual(['invite.ics']);
  });

  test('of another type has none', async () => {
    expect(await namesOf('image/png', 'png')).toEqual([null]);
  });

  test('with a name keeps it', async () => {
    expect(await namesOf('message/rfc822; name=a.msg', 'Subject: b\r\n\r\n')).toEqual(['a.msg']);
  });
});

describe('a text', () => {
  test.each([
    ['utf-16', '\xfe\xff\0H\0i', 'Hi'],
    ['windows-1251', '\xcf\xf0', 'Пр'],
    ['win-1251', '\xcf\xf0', 'Пр'],
    ['cp850', '\x81', 'ü'],
  ])('in %s is decoded', async (charset, bytes, decoded) => {
    const { text } = await parse(`${FROM}Content-Type: text/plain; charset=${charset}\r\n\r\n${bytes}`);
    expect(text).toBe(decoded);
  });

  // A known limit of docs/inbound.md.
  test.each([
    ['utf-7', 'Hi +AOQ-'],
    ['hz-gb-2312', '~{<:Ky2;S{~}'],
    ['iso-2022-kr', '\x1b$)C\x0e>H3g\x0f'],
  ])('in %s stays as written', async (charset, bytes) => {
    const { text } = await parse(`${FROM}Content-Type: text/plain; charset=${charset}\r\n\r\n${bytes}`);
    expect(text).toBe(bytes);
  });

  test.each([
    ['=?iso-8859-1?Q?Fr\xf6sche?= und =?iso-8859-1?q?K=F6nige?=', 'Frösche und Könige'],
    ['=?windows-1251?Q?\xcf\xf0?=', 'Пр'],
    ['=?utf-8?Q?Fr\xc3\xb6sche?=', 'Frösche'],
    ['=?iso-8859-1?Q?Fr\xf6sche?= \xfc', 'Frösche ü'],
  ])('in an encoded word may have raw bytes: %j', async (written, decoded) => {
    const message = await parse(`From: ${written} <ann@sender.example>\r\nSubject: ${written}\r\n\r\n`);
    expect(message).toMatchObject({ subject: decoded, from: `${decoded} <ann@sender.example>` });
  });

  test('in an encoded word may be split within a character', async () => {
    const { subject } = await parse(`${FROM}Subject: =?UTF-8?Q?=C3?= =?utf-8?Q?=BC?=\r\n\r\n`);
    expect(subject).toBe('ü');
  });
});

describe('a program', () => {
  test.each([
    'Precedence: auto_reply',
    'Precedence: bulk',
    'Precedence: list',
    'Precedence: junk',
    'X-Precedence: bulk',
    'X-Autoreply: yes',
    'X-Autorespond: out of office',
    'X-Auto-Response-Suppress: All',
    'List-Id: <l.example>',
    'List-Unsubscribe: <mailto:u@l.example>',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    'Auto-Submitted: (by a robot) auto-replied',
  ])('says so by %s', async (field) => {
    expect((await parse(`${FROM}${field}\r\n\r\nHi`)).automatic).toBe(true);
  });

  test.each(['Auto-Submitted: no', 'X-Auto-Response-Suppress: None', 'Precedence: first-class', 'X-A: b'])(
    'does not write %s',
    async (field) => {
      expect((await parse(`${FROM}${field}\r\n\r\nHi`)).automatic).toBe(false);
    },
  );
});

describe('ids', () => {
  test('of In-Reply-To all lead to a thread without References', async () => {
    const { inReplyTo, references } = await parse(`${FROM}In-Reply-To: <a@x> <b@x>\r\n\r\n`);
    expect({ inReplyTo, references }).toEqual({ inReplyTo: 'b@x', references: ['a@x', 'b@x'] });
  });

  test('in the old form stand behind the address', async () => {
    expect(await parse(`${FROM}In-Reply-To: Bob <bob@x> message <q@x>\r\n\r\n`)).toMatchObject({
      inReplyTo: 'q@x',
    });
  });

  test('may be encoded words, as Python writes long ones', async () => {
    const encoded = (id: string) => `=?utf-8?q?=3C${id}?=\r\n =?utf-8?q?=40x=2Eexample=3E?=`;
    const header = `Message-ID: ${encoded('own')}\r\nIn-Reply-To: ${encoded('b')}\r\nReferences: <a@x.example>\r\n ${encoded('b')}`;
    expect(await parse(`${FROM}${header}\r\n\r\n`)).toMatchObject({
      messageId: 'own@x.example',
      inReplyTo: 'b@x.example',
      references: ['a@x.example', 'b@x.example'],
    });
  });

  test('may be a lone word', async () => {
    expect(await parse(`${FROM}Message-ID: 000200\r\n\r\n`)).toMatchObject({ messageId: '000200' });
  });
});
