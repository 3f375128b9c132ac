import { runs } from '@postrider/testing';
import { HTML_CHARACTERS_MAX } from '../src/limits.ts';

/** Size of a flood: the largest accepted message in the long run. Every limit of the parser is below a quarter of it. */
const FLOOD_BYTES = runs({ usual: 2.5, long: 10 }) * 1024 * 1024;

const HEADER = 'From: Ann <ann@sender.example>\r\nSubject: Hello\r\n';
const text = (parameters: string, extra = ''): string =>
  `Content-Type: text/plain${parameters}\r\n${extra}\r\n`;

/** A header, then one piece repeated. */
function flood(header: string, piece: string | Buffer, size = FLOOD_BYTES): () => Buffer {
  return () => {
    const head = Buffer.from(`${HEADER}${header}`);
    const bytes = Buffer.alloc(size, head);
    bytes.fill(piece, head.length);
    return bytes;
  };
}

/** Addresses in nested encoded words. UTF-8 read as windows-1252 doubles its bytes at each level. */
function wordsInWords(depth: number): string {
  if (depth === 0) return 'é'.repeat(5_000);
  const text = `<a@b.example>, ${wordsInWords(depth - 1)}`;
  const written = text.replaceAll(/[=?<>@, ]/g, (sign) => `=${sign.charCodeAt(0).toString(16)}`);
  return `=?windows-1252?q?${written}?=`;
}

/** 64 KiB of groups in groups, with the same in encoded words, two levels deep. */
export function nestedGroups(depth = 2): string {
  const groups = 'a:'.repeat(50);
  const words = depth === 0 ? 'x' : `=?utf-8?b?${Buffer.from(nestedGroups(depth - 1)).toString('base64')}?=`;
  return `${groups}"${words.slice(0, 12_000)}"`.repeat(depth === 2 ? 80 : 1);
}

/** Large messages, each full of one thing that costs a parser time and memory. */
export const floods: readonly (readonly [title: string, raw: () => Buffer])[] = [
  ['line feeds', flood(text(''), '\n')],
  ['CRLF', flood(text(''), '\r\n')],
  ['flowed empty lines', flood(text('; format=flowed'), '\n')],
  ['UTF-16 surrogates', flood(text('; charset=utf-16le'), Buffer.from([0x00, 0xd8]))],
  ['quoted-printable', flood(text('', 'Content-Transfer-Encoding: quoted-printable\r\n'), '=41=\n')],
  ['base64', flood(text('', 'Content-Transfer-Encoding: base64\r\n'), 'QQ\n')],
  ['header fields', flood('', 'a:\n')],
  ['folds', flood('X-Long: a\r\n', ' a\n')],
  ['one header field', flood('X-Long: ', 'a ')],
  ['encoded words', flood('X-Long: ', '=?utf-8?q?=C3?= ')],
  ['words in words', flood(`To: ${wordsInWords(10)}\r\n\r\n`, 'a')],
  ['addresses', flood('To: ', 'a@b.example,')],
  ['authors', flood('', `From: ${'a@b.example,Ä@B.example,'.repeat(2_500)}\r\n`)],
  ['brackets in addresses', flood('To: ', '"(<')],
  ['groups', flood('To: ', 'a:')],
  ['ids', flood('References: ', '<a@b>')],
  ['parts', flood('Content-Type: multipart/mixed; boundary=b\r\n\r\n', '--b\n\n')],
  [
    'named parts',
    flood(
      'Content-Type: multipart/mixed; boundary=b\r\n\r\n',
      "--b\nContent-Disposition: x; filename*=utf-8''%20a\n\n",
    ),
  ],
  ['nested parts', flood('', 'Content-Type: multipart/mixed; boundary=b\n\n--b\n')],
  ['almost delimiters', flood('Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n', '--bb\n')],
  ['parameters', flood('Content-Type: text/plain', '; a=b')],
  ['HTML quotes', flood(`Content-Type: text/html\r\n\r\n${'<blockquote>'.repeat(400)}`, 'x<br>')],
  [
    'quotes in HTML that becomes text',
    flood(`Content-Type: text/html\r\n\r\n${'<blockquote>'.repeat(400)}`, 'x<br>', HTML_CHARACTERS_MAX),
  ],
  [
    'links in HTML that becomes text',
    flood(`Content-Type: text/html\r\n\r\n${'<a href=a>'.repeat(400)}`, 'x ', HTML_CHARACTERS_MAX),
  ],
  [
    'ampersands beside HTML',
    flood(
      'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\nx\r\n--b\r\n\r\n',
      '&',
    ),
  ],
  ['HTML text', flood('Content-Type: text/html\r\n\r\n', 'x\n')],
  ['HTML links', flood('Content-Type: text/html\r\n\r\n', '<a href=http://a.example>b</a>')],
];
