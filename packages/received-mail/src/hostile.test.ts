import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { bundleScript, type BundledScript } from '@postrider/testing';
import { floods } from '../test/floods.ts';
import {
  ADDRESSES_MAX,
  DEPTH_MAX,
  FIELD_BYTES_MAX,
  HEADER_SCAN_BYTES_MAX,
  HEADERS_MAX,
  LINE_CHARACTERS_MAX,
  PARTS_MAX,
  REFERENCES_MAX,
} from './limits.ts';
import { MessageParser } from './message-parser.ts';
import { parseMessage } from './parse-message.ts';
import type { ParsedMessage } from './parsed-message.ts';

const FROM = 'From: Ann <ann@sender.example>\r\n';
const parse = (text: string) => parseMessage(Buffer.from(text));

const nested = (levels: number): string =>
  `${FROM}${Array.from({ length: levels }, (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`).join('')}\r\ndeep`;

describe('the limits', () => {
  test('of 10,000 parts the first ones are kept', async () => {
    const part = '--b\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\nx\r\n';
    const message = `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n`;
    const { text, attachments, complete } = await parse(`${message}${part.repeat(9_999)}--b--\r\n`);
    expect({ text, complete, taken: attachments.length }).toEqual({
      text: 'hello',
      complete: false,
      taken: PARTS_MAX - 2, // the message is one, the text is one
    });
    const most = await parse(`${message}${part.repeat(PARTS_MAX - 2)}--b--\r\n`);
    expect({ complete: most.complete, taken: most.attachments.length }).toEqual({
      complete: true,
      taken: PARTS_MAX - 2,
    });
  });

  test('a multipart nested too deep stays whole', async () => {
    expect(await parse(nested(DEPTH_MAX))).toMatchObject({ text: 'deep', attachments: [], complete: true });
    for (const levels of [DEPTH_MAX + 1, 1_000]) {
      const tooDeep = await parse(nested(levels));
      expect(tooDeep).toMatchObject({ from: 'Ann <ann@sender.example>', text: null, complete: false });
      expect(tooDeep.attachments).toMatchObject([{ contentType: 'multipart/mixed', filename: null }]);
    }
  });

  test('a header line of 1 MB is cut, and what follows is read', async () => {
    const message = await parse(`X-Long: ${'a '.repeat(500_000)}\r\n${FROM}\r\nhello\r\n`);
    expect(message).toMatchObject({ from: 'Ann <ann@sender.example>', text: 'hello\n', complete: false });
    expect(message.headers.map(({ name }) => name)).toEqual(['X-Long', 'From']);
    expect(message.headers[0]?.value.length).toBeLessThanOrEqual(FIELD_BYTES_MAX);
  });

  test('a header line of 1 MB in a part is cut, and the part is read', async () => {
    const part = `X-Long: ${'a'.repeat(1_000_000)}\r\nContent-Type: text/html\r\n\r\n<p>hello</p>`;
    const message = `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${part}\r\n--b--\r\n`;
    expect(await parse(message)).toMatchObject({ text: 'hello', html: '<p>hello</p>', complete: false });
  });

  test('no number of fields hides the sender', async () => {
    const message = await parse(`${'X-Junk: junk\r\n'.repeat(40_000)}${FROM}Subject: Hello\r\n\r\nhello`);
    expect(message).toMatchObject({
      fromAddresses: ['ann@sender.example'],
      subject: 'Hello',
      complete: false,
    });
    expect(message.headers).toHaveLength(HEADERS_MAX);
  });

  test('repeats of an author hide no other', async () => {
    const repeats = 'Ann <Ann@sender.example>, ann@SENDER.example, '.repeat(1_000);
    const { from, fromAddresses, complete } = await parse(`From: ${repeats}bob@sender.example\r\n\r\nhello`);
    expect(from).toBe('Ann <Ann@sender.example>');
    expect(fromAddresses).toEqual(['ann@sender.example', 'bob@sender.example']);
    expect(complete).toBe(true);
  });

  const manyAuthors = (count: number) => Array.from({ length: count }, (_, index) => `u${index}@a.example`);
  const address = (length: number) => `${'a'.repeat(length - '@a.example'.length)}@a.example`;
  const nestedGroups = (depth: number) => `${'a:'.repeat(depth)}<ann@a.example>${';'.repeat(depth)}`;
  const word = (text: string) => `=?utf-8?b?${Buffer.from(text).toString('base64')}?=`;
  const nestedWords = (depth: number): string =>
    depth === 0 ? '<ann@a.example>' : word(`<bob@a.example>, ${nestedWords(depth - 1)}`);
  test.each<[string, string, string]>([
    ['addresses', manyAuthors(ADDRESSES_MAX - 1).join(', '), manyAuthors(ADDRESSES_MAX).join(', ')],
    ['characters of an address', address(LINE_CHARACTERS_MAX), address(LINE_CHARACTERS_MAX + 1)],
    ['bytes', ' '.repeat(FIELD_BYTES_MAX - 100), ' '.repeat(FIELD_BYTES_MAX)],
    ['groups in groups', nestedGroups(50), nestedGroups(51)],
    ['groups in an encoded word', word(nestedGroups(50)), word(nestedGroups(51))],
    [
      'groups in an encoded word with a comment',
      word(nestedGroups(50)).replace('OmE6', 'Om(?)E6'),
      word(nestedGroups(51)).replace('OmE6', 'Om(?)E6'),
    ],
    ['groups in a quoted word', `"${word(nestedGroups(50))}"`, `"=\\${word(nestedGroups(51)).slice(1)}"`],
    ['encoded words in each other', nestedWords(3), nestedWords(4)],
    ['fields', 'a@a.example\r\nFrom: '.repeat(8), 'a@a.example\r\nFrom: '.repeat(9)],
    ['lines', `ann@a.example\r\n${'a:\r\n'.repeat(100_000)}`, `ann@a.example\r\n${'a:\r\n'.repeat(200_000)}`],
  ])('a From with too many %s gives no authors', async (_, from, tooMuch) => {
    const read = async (field: string) => parse(`From: bob@sender.example\r\n${field}\r\n\r\nhello`);
    const known = (await read(`From: ${from}`)).fromAddresses;
    expect(known).toContain('bob@sender.example');
    const { from: shown, fromAddresses, complete } = await read(`From: ${tooMuch}`);
    expect({ shown, fromAddresses, complete }).toEqual({
      shown: 'bob@sender.example',
      fromAddresses: null,
      complete: false,
    });
  });

  test.each([
    ['200,001 lines', 'x\r\n'.repeat(200_001)],
    ['a line of 4 MiB', `${'x'.repeat(4 * 1024 * 1024)}\r\n`],
  ])('%s without a field do not hide an author', async (_, junk) => {
    const { fromAddresses, complete } = await parse(`${junk}From: a@blocked.example\r\n\r\nHi`);
    expect({ fromAddresses, complete }).toEqual({ fromAddresses: null, complete: false });
  });

  test('lines without a field stay the text, however many they are', async () => {
    const text = 'x\n'.repeat(200_001);
    expect(await parse(text)).toMatchObject({ text, fromAddresses: null, complete: false });
  });

  test('an author beyond the scan limit leaves the authors unknown', async () => {
    const author = 'From: a@blocked.example';
    const header = (bytes: number) =>
      `X: ${'y'.repeat(bytes - author.length - 'X: \r\n'.length)}\r\n${author}`;
    const { fromAddresses } = await parse(header(HEADER_SCAN_BYTES_MAX));
    expect(fromAddresses).toEqual(['a@blocked.example']);
    expect(await parse(header(HEADER_SCAN_BYTES_MAX + 1))).toMatchObject({
      fromAddresses: null,
      complete: false,
    });
  });

  test('blanks before its colon hide no author', async () => {
    const field = (blanks: number) => `From${' '.repeat(blanks)}: a@blocked.example\r\n`;
    for (const before of ['', FROM]) {
      const { fromAddresses } = await parse(`${before}${field(60_000)}\r\nHi`);
      expect(fromAddresses).toContain('a@blocked.example');
      const hidden = await parse(`${before}${field(FIELD_BYTES_MAX)}\r\nHi`);
      expect(hidden.fromAddresses).toBeNull();
      expect(hidden.complete).toBe(false);
    }
  });

  test('a header that cannot be read gives no authors', async () => {
    const raw = Object.assign(Buffer.from(`${FROM}\r\nHi`), {
      subarray: () => {
        throw new Error('a fault of the reader');
      },
    });
    expect(await parseMessage(raw)).toMatchObject({ from: '', fromAddresses: null, complete: false });
  });

  test('a To that is cut leaves the authors known', async () => {
    const to = `${manyAuthors(ADDRESSES_MAX + 1).join(', ')}, ${' '.repeat(FIELD_BYTES_MAX)}`;
    expect(await parse(`To: ${to}\r\n${FROM}\r\nhello`)).toMatchObject({
      fromAddresses: ['ann@sender.example'],
      complete: false,
    });
  });

  test('of 100,000 addresses in To the first ones are kept', async () => {
    const to = Array.from({ length: 100_000 }, (_, index) => `u${index}@inbox.example`).join(',\r\n ');
    const message = await parse(`To: ${to}\r\n${FROM}\r\nhello`);
    expect(message).toMatchObject({ from: 'Ann <ann@sender.example>', text: 'hello', complete: false });
    expect(message.to).toHaveLength(ADDRESSES_MAX);
    expect(message.to[0]).toBe('u0@inbox.example');
  });

  test('the last address of a field that is cut is no half of one', async () => {
    const address = `a@${'b'.repeat(300)}.example`;
    const { to } = await parse(`To: ${`${address}, `.repeat(300)}\r\n\r\n`);
    expect(to.length).toBeGreaterThan(100);
    expect(new Set(to)).toEqual(new Set([address]));
  });

  test('of 500 references the first and the last ones are kept', async () => {
    const ids = Array.from({ length: 500 }, (_, index) => `id${index}@sender.example`);
    const { references, complete } = await parse(
      `References: ${ids.map((id) => `<${id}>`).join('\r\n ')}\r\n\r\n`,
    );
    expect(references).toEqual([ids[0], ...ids.slice(1 - REFERENCES_MAX)]);
    expect(complete).toBe(false);
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

  test('HTML beyond the limits is cut in the text alone', async () => {
    const html = `<p>begin</p>${'<b>'.repeat(2_000)}end`;
    expect(await parse(`${FROM}Content-Type: text/html\r\n\r\n${html}`)).toMatchObject({
      text: 'begin',
      html,
      complete: false,
    });
  });
});

describe('the largest messages in a thread with little memory', () => {
  let script: BundledScript;
  let parser: MessageParser;
  const lost: string[] = [];

  beforeAll(() => {
    script = bundleScript(new URL('parse-thread.ts', import.meta.url));
    parser = new MessageParser({
      threads: 1,
      timeoutMs: 20_000,
      memoryMb: 128,
      script: script.path,
      onThreadLost: (error) => lost.push(error.message),
    });
  });

  afterAll(async () => {
    await parser.close();
    script.remove();
  });

  test.each(floods)('a flood of %s costs no thread', async (_title, flood) => {
    const raw = flood();
    const message = await parser.parse(raw);
    expect(lost.splice(0)).toEqual([]);
    expect(message.from).toBe('Ann <ann@sender.example>');
    expect(charactersOf(message)).toBeLessThan(2 * raw.length);
    expect(message.attachments.reduce((sum, { content }) => sum + content.length, 0)).toBeLessThan(
      raw.length,
    );
  });
});

function charactersOf(message: ParsedMessage): number {
  const { text, html, headers, ...rest } = message;
  const listed = headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  return (
    listed + (text ?? '').length + (html ?? '').length + JSON.stringify({ ...rest, attachments: [] }).length
  );
}
