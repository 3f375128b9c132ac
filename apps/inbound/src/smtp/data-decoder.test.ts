import { describe, expect, test } from '@jest/globals';
import { DataDecoder } from './data-decoder.ts';

/** Cuts the input into chunks at `cuts`. Returns the content and the bytes after the end. */
function decode(input: string, ...cuts: number[]): { content: string; rest: string | null } {
  const bytes = Buffer.from(input, 'latin1');
  const decoder = new DataDecoder();
  let content = '';
  for (const [index, from] of [0, ...cuts].entries()) {
    const chunk = bytes.subarray(from, cuts[index] ?? bytes.length);
    const decoded = decoder.decode(chunk);
    content += decoded.content.toString('latin1');
    if (decoded.end !== null) return { content, rest: bytes.subarray(from + decoded.end).toString('latin1') };
  }
  return { content, rest: null };
}

describe('the end of a message', () => {
  test.each([
    ['.\r\nQUIT', '', 'QUIT'],
    ['a\r\n.\r\nQUIT', 'a\r\n', 'QUIT'],
    ['\r\n.\r\n', '\r\n', ''],
    ['a\r\n..\r\n.\r\n', 'a\r\n.\r\n', ''],
    ['a\r\r\n.\r\n', 'a\r\r\n', ''],
  ])('%j ends it, and leaves what follows', (input, content, rest) => {
    expect(decode(input)).toEqual({ content, rest });
  });

  test.each([
    ['\n.\n', 'a\n.\n'],
    ['\n.\r\n', 'a\n.\r\n'],
    ['\r.\r', 'a\r.\r'],
    ['\r.\r\n', 'a\r.\r\n'],
    ['\n.\r', 'a\n.\r'],
    ['\r\n.\n', 'a\r\n\n'],
    ['\r\n.\r', 'a\r\n'],
    ['\r\n.\r\r\n', 'a\r\n\r\r\n'],
    ['\r\n\0.\r\n', 'a\r\n\0.\r\n'],
    ['\r\n.\0\r\n', 'a\r\n\0\r\n'],
  ])('a%j is content', (input, content) => {
    expect(decode(`a${input}`)).toEqual({ content, rest: null });
  });
});

describe('dots', () => {
  test.each([
    ['..\r\n.\r\n', '.\r\n'],
    ['.a\r\n.\r\n', 'a\r\n'],
    ['a..b.\r\n..c\r\n.\r\n', 'a..b.\r\n.c\r\n'],
    ['a\n..b\r\n.\r\n', 'a\n..b\r\n'],
    ['a\r..b\r\n.\r\n', 'a\r..b\r\n'],
    ['....\r\n.\r\n', '...\r\n'],
  ])('of %j those that were added go', (input, content) => {
    expect(decode(input)).toEqual({ content, rest: '' });
  });
});

test('chunks may be cut anywhere', () => {
  const inputs = ['..\r\n.a\r\n\n.\r\n\r\n.\r\r\n..\r\n.\r\nQUIT\r\n', '.\r\nQUIT', 'a\r\n.\r.\r\n\r.\r\n'];
  for (const input of inputs) {
    const cut = new Set<string>();
    for (let first = 0; first <= input.length; first += 1) {
      for (let second = first; second <= input.length; second += 1) {
        cut.add(JSON.stringify(decode(input, first, second)));
      }
    }
    expect([...cut]).toEqual([JSON.stringify(decode(input))]);
  }
});

/** A simple decoder that works by lines (RFC 5321, 4.5.2). */
function byLines(input: string): { content: string; rest: string | null } {
  const lines = input.split('\r\n');
  const end = lines.findIndex((line, index) => line === '.' && index < lines.length - 1);
  const kept = (end === -1 ? lines : lines.slice(0, end)).map((line) => line.replace(/^\./, ''));
  const content = kept.join('\r\n');
  if (end === -1) return { content, rest: null };
  return { content: end === 0 ? '' : `${content}\r\n`, rest: lines.slice(end + 1).join('\r\n') };
}

test('any sequence of dots, CR and LF decodes like its lines', () => {
  const letters = ['.', '\r', '\n', 'a'];
  const places = 8;
  const different: string[] = [];
  for (let number = 0; number < letters.length ** places; number += 1) {
    let input = '';
    for (let rest = number; input.length < places; rest = Math.floor(rest / letters.length)) {
      input += letters[rest % letters.length] ?? '';
    }
    // Compares only complete content: the decoder may hold back the last bytes of an unfinished message.
    const all = `${input}b\r\n.\r\n`;
    const [got, wanted] = [decode(all), byLines(all)];
    if (got.content !== wanted.content || got.rest !== wanted.rest) different.push(all);
  }
  expect(different).toEqual([]);
});
