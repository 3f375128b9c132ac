import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { REFERENCES_MAX } from '@postrider/domain/message-ids';
import { DIST, runs } from '@postrider/testing';
import { floods, nestedGroups } from '../test/floods.ts';
import {
  FIELD_BYTES_MAX,
  HEADER_BYTES_MAX,
  HEADER_LINES_MAX,
  HTML_CHARACTERS_MAX,
  LINE_CHARACTERS_MAX,
  LONGER_TEXT_CHARACTERS_MAX,
} from './limits.ts';
import { MessageParser } from './message-parser.ts';
import { parseMessage } from './parse-message.ts';
import type { ParsedMessage } from './parsed-message.ts';

const FROM = 'From: Ann <ann@sender.example>\r\n';
const parse = (text: string) => parseMessage(Buffer.from(text));

describe('a header beyond the limits hides no author: nobody can tell who it is', () => {
  const author = 'From: a@blocked.example\r\n';
  test.each([
    ['bytes', `${`X: ${'y'.repeat(1_000)}\r\n`.repeat(HEADER_BYTES_MAX / 1_000)}${author}`],
    ['lines', `${'X:\r\n'.repeat(HEADER_LINES_MAX)}${author}`],
    ['lines without a field', `${'x\r\n'.repeat(HEADER_LINES_MAX)}${author}`],
    ['bytes of one line', `X: ${'y'.repeat(FIELD_BYTES_MAX)}\r\n${author}`],
    ['bytes of its From', `From: ${' '.repeat(FIELD_BYTES_MAX)}a@blocked.example\r\n`],
    ['bytes before its colon', `From${' '.repeat(FIELD_BYTES_MAX)}: a@blocked.example\r\n`],
  ])('%s', async (_, header) => {
    const { fromAddresses, complete } = await parse(`${FROM}${header}\r\nHi`);
    expect({ fromAddresses, complete }).toEqual({ fromAddresses: null, complete: false });
    const alone = await parse(`${header}\r\nHi`);
    expect({ fromAddresses: alone.fromAddresses, complete: alone.complete }).toEqual({
      fromAddresses: null,
      complete: false,
    });
  });
});

test('a header of exactly so many lines as the limit names its author, and is read whole', async () => {
  const header = `${FROM}${'X:\r\n'.repeat(HEADER_LINES_MAX - 1)}`;
  const { fromAddresses, complete } = await parse(`${header}\r\nHi`);
  expect({ fromAddresses, complete }).toEqual({ fromAddresses: ['ann@sender.example'], complete: true });
});

describe('an author whom two readers do not read alike cannot be told', () => {
  test.each([
    'From: a@a.example\r\nFrom: a@a.example\r\n',
    'From: a@a.example\r\nnot a field, b@b.example\r\n',
    `From: ${'a'.repeat(LINE_CHARACTERS_MAX)}@a.example\r\n`,
    'From: =?utf-8?q?=3Ca=40a.example=3E?=\r\n',
    'From: =?utf-8?q?b=40b.example?=@a.example\r\n',
    'From: Sales <Sales>\r\n',
    'From:\r\n',
    '',
  ])('%j', async (header) => {
    expect((await parse(`${header}Subject: Hi\r\n\r\nHi`)).fromAddresses).toBeNull();
  });

  test.each([
    ['From: Doe, John <j@a.example>\r\n', ['j@a.example']],
    ['From: Team: a@a.example, "b b"@B.example;\r\n', ['a@a.example', '"b b"@b.example']],
    ['From: =?utf-8?q?J=C3=B6rg?= <j@b\u00fccher.example>\r\n', ['j@xn--bcher-kva.example']],
    ['from:\r\n\tAnn\r\n <a@a.example>\r\n', ['a@a.example']],
  ])('but these can: %j', async (header, authors) => {
    expect((await parse(`${header}\r\nHi`)).fromAddresses).toEqual(authors);
  });
});

test('the last address of a field that is cut is no half of one', async () => {
  const address = `a@${'b'.repeat(300)}.example`;
  const { to } = await parse(`${FROM}To: ${`${address}, `.repeat(300)}\r\n\r\n`);
  expect(to.length).toBeGreaterThan(100);
  expect(new Set(to)).toEqual(new Set([address]));
});

test('of 500 references the first and the last ones are kept', async () => {
  const ids = Array.from({ length: 500 }, (_, index) => `id${index}@sender.example`);
  const { references } = await parse(`References: ${ids.map((id) => `<${id}>`).join('\r\n ')}\r\n\r\n`);
  expect(references).toEqual([ids[0], ...ids.slice(1 - REFERENCES_MAX)]);
});

test('an id longer than a line, counted in bytes, is dropped', async () => {
  const longest = 'é'.repeat(499);
  for (const field of ['Message-ID', 'In-Reply-To', 'References']) {
    const { messageId, inReplyTo, references } = await parse(`${field}: <${longest}>\r\n\r\n`);
    expect([messageId, inReplyTo, ...references].filter((id) => id !== null)).toEqual([longest]);
    const over = await parse(`${field}: <${longest}a>\r\n\r\n`);
    expect([over.messageId, over.inReplyTo, ...over.references]).toEqual([null, null]);
  }
});

describe('a body beyond the limits is not complete', () => {
  const parts = (count: number) =>
    `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\nContent-Disposition: attachment\r\n\r\nx\r\n'.repeat(count)}--b--\r\n`;

  test('of more than 1,000 parts only the header is read', async () => {
    expect(await parse(parts(900))).toMatchObject({ complete: true });
    expect(await parse(parts(2_000))).toMatchObject({ from: 'Ann <ann@sender.example>', complete: false });
  });

  test('of a message with a part whose header has over 1 MiB only the header is read', async () => {
    const field = `X: ${'y'.repeat(900)}\r\n`;
    const message = parts(1).replace('--b\r\n', `--b\r\n\r\nlost text\r\n--b\r\n${field.repeat(1_300)}`);
    expect(await parse(message)).toMatchObject({ text: null, complete: false });
  });

  test('plain text whose HTML would be over twice as long is left out of the HTML', async () => {
    const part = (content: string) =>
      `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n${content}\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>x\r\n--b--\r\n`;
    const signs = '&'.repeat(LONGER_TEXT_CHARACTERS_MAX);
    const { text, html, complete } = await parse(part(signs));
    expect({ rest: text?.replace(signs, ''), html, complete }).toEqual({
      rest: '\nx',
      html: '<br/>\n<p>x',
      complete: false,
    });
    const log = '<a>12345\r\n'.repeat(LONGER_TEXT_CHARACTERS_MAX / 8);
    const whole = await parse(part(log));
    expect(whole.complete).toBe(true);
    expect(whole.html?.match(/&lt;a&gt;12345\n/g)).toHaveLength(LONGER_TEXT_CHARACTERS_MAX / 8);
  });

  test('HTML too long to become text is kept', async () => {
    const html = `<p>begin</p>${'x'.repeat(HTML_CHARACTERS_MAX)}`;
    const { text, html: kept, complete } = await parse(`${FROM}Content-Type: text/html\r\n\r\n${html}`);
    expect({ text, complete, length: kept?.length }).toEqual({
      text: null,
      complete: false,
      length: html.length,
    });
  });

  describe('HTML that html-to-text would handle too often stays HTML:', () => {
    const parseHtml = (html: string) => parse(`${FROM}Content-Type: text/html\r\n\r\n${html}`);

    test.each([
      ['quotes', '<blockquote>', ''],
      ['ordered lists', '<ol start=1000000><li>', ''],
      ['lists', '<ul><li>', ''],
      ['links', '<a href=a>', ''],
      ...[1, 2, 3, 4, 5, 6].map((level) => [`headings ${level}`, `<h${level}>`, ''] as const),
      ['quotes that a comment seems to end', '<blockquote>', '<!-- </blockquote> -->'],
      ['quotes that an attribute seems to end', '<blockquote>', '<b title="></blockquote>"></b>'],
      ['quotes that a style seems to end', '<blockquote>', '<style></blockquote></style>'],
    ])('%s', async (_, open, decoy) => {
      const html = `${`${open}${decoy}`.repeat(450)}${'<p>x'.repeat(5_000)}`;
      const message = await parseHtml(html);
      expect({ textLength: message.text?.length, isComplete: message.complete }).toEqual({
        isComplete: false,
      });
      expect(message.html).toHaveLength(html.length);
    });

    test('more elements than mailparser converts', async () => {
      expect(await parseHtml('<b>'.repeat(50_000))).toMatchObject({ text: null, complete: false });
    });

    test.each([
      ['parts', (part: string) => part],
      [
        'alternatives without a plain part',
        (part: string) =>
          `--b\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n${part.replace('--b', '--a')}--a--\r\n`,
      ],
    ])('the %s of a message count together', async (_, within) => {
      const part = `--b\r\nContent-Type: text/html\r\n\r\n${'x'.repeat(HTML_CHARACTERS_MAX - 100)}\r\n`;
      const message = (count: number) =>
        `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHi\r\n${within(part).repeat(count)}--b--\r\n`;
      expect(await parse(message(2))).toMatchObject({ complete: true });
      const { text, complete } = await parse(message(11));
      expect({ text: text?.trim(), complete }).toEqual({ text: 'Hi', complete: false });
    });

    test('but names of places, which old generators leave open, are no links', async () => {
      const html = `${'<a name="s">'.repeat(450)}${'<p>A line '.repeat(5_000)}`;
      const { text, complete } = await parseHtml(html);
      expect(text?.match(/A line/g)).toHaveLength(5_000);
      expect(complete).toBe(true);
      expect(await parseHtml(html.replaceAll('name', 'href'))).toMatchObject({ complete: false });
    });

    test('but 30 quotes around 1,000 lines become text', async () => {
      const { text, complete } = await parseHtml(`${'<blockquote>'.repeat(30)}${'<p>A line '.repeat(1_000)}`);
      expect(text?.match(/A line/g)).toHaveLength(1_000);
      expect(complete).toBe(true);
    });
  });

  test('a message of a few KB becomes no megabytes of text', async () => {
    const html = '<hr>'.repeat(10_000);
    const message = await parse(`${FROM}Content-Type: text/html\r\n\r\n${html}`);
    expect({ textLength: message.text?.length, isComplete: message.complete }).toEqual({ isComplete: false });
    expect(message.html).toHaveLength(html.length);
  });

  test.each([
    ['without a boundary', 'Content-Type: multipart/mixed\r\n\r\n--b\r\n\r\nx\r\n--b--\r\n'],
    [
      'with a boundary that no line has',
      'Content-Type: multipart/mixed; boundary=a\r\n\r\n--b\r\n\r\nx\r\n--b--\r\n',
    ],
    [
      'with such a multipart inside',
      'Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\nContent-Type: multipart/mixed\r\n\r\n--b\r\n\r\nx\r\n--a--\r\n',
    ],
    [
      'with text in a header',
      'Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\nlost text\r\n--a--\r\n',
    ],
  ])('a multipart %s', async (_, body) => {
    expect(await parse(`${FROM}${body}`)).toMatchObject({ complete: false });
  });
});

test('a zip bomb stays as it was sent', async () => {
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
  const raw = Buffer.from(
    `${FROM}Content-Type: application/gzip; name=a.gz\r\nContent-Transfer-Encoding: base64\r\n\r\n${bomb.toString('base64')}\r\n`,
  );
  const { attachments, complete } = await parseMessage(raw);
  expect(attachments).toEqual([
    { filename: 'a.gz', contentType: 'application/gzip', contentId: null, content: bomb },
  ]);
  expect(complete).toBe(true);
});

describe('very large messages in a thread', () => {
  let parser: MessageParser;

  beforeAll(() => {
    const memoryMb = runs({ usual: 64, long: 256 }); // as the floods, a quarter
    parser = new MessageParser({
      threads: 1,
      timeoutMs: 5_000,
      memoryMb,
      script: join(DIST, 'parse-thread.js'),
    });
  });

  afterAll(() => parser.close());

  /** A message that is too hard to read is unread. The next message is read in any case. */
  async function expectReadOrUnread(raw: Buffer): Promise<void> {
    const message = await parser.parse(raw, 'a');
    expect(charactersOf(message)).toBeLessThan(3 * raw.length);
    if (message.headers.length === 0) expect(message).toMatchObject({ fromAddresses: null, complete: false });
    expect(await parser.parse(Buffer.from(`${FROM}\r\nHi`), 'b')).toMatchObject({
      text: 'Hi',
      complete: true,
    });
  }

  test.each(floods)(
    'a flood of %s costs only itself',
    async (_title, flood) => {
      await expectReadOrUnread(flood());
    },
    60_000,
  );

  test('attached messages whose subjects are dots and blanks are read like others', async () => {
    const part = `--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: a${' .'.repeat(30_000)} a\r\n\r\nHi\r\n`;
    const raw = Buffer.from(
      `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(8)}--b--\r\n`,
    );
    const { attachments, complete } = await parser.parse(raw, 'a');
    expect([attachments.length, complete]).toEqual([8, true]);
    expect(attachments[0]?.filename).toBe('a.eml');
  });

  test('nested groups in 40 address fields cost only themselves, and have no author', async () => {
    const fields = ['From', 'To', 'Cc', 'Reply-To'].map((name) =>
      `${name}: ${nestedGroups()}\r\n`.repeat(10),
    );
    const raw = Buffer.from(`${fields.join('')}\r\nHi`);
    expect((await parser.parse(raw, 'a')).fromAddresses).toBeNull();
    await expectReadOrUnread(raw);
  });
});

function charactersOf(message: ParsedMessage): number {
  const { text, html, headers, attachments, ...rest } = message;
  const listed = headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  const files = attachments.reduce((sum, { content }) => sum + content.length, 0);
  return listed + files + (text ?? '').length + (html ?? '').length + JSON.stringify(rest).length;
}
