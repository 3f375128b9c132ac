import { expect, test } from '@jest/globals';
import { REFERENCES_MAX } from '@postrider/domain/message-ids';
import { runs } from '@postrider/testing';
import fc from 'fast-check';
import { mutated } from '../test/mutated.ts';
import { HEADER_LINES_MAX, LINE_CHARACTERS_MAX } from './limits.ts';
import { parseMessage } from './parse-message.ts';
import type { ParsedMessage } from './parsed-message.ts';

/** Each message takes about 2 ms. */
const MESSAGES = runs({ usual: 750, long: 50_000 });

/** Every one-line text in a message. */
function linesOf(message: ParsedMessage): string[] {
  const { messageId, inReplyTo, references, from, fromAddresses, to, cc, replyTo, subject } = message;
  const names = message.attachments.flatMap(({ filename, contentType, contentId }) => [
    filename,
    contentType,
    contentId,
  ]);
  const headers = message.headers.flatMap(({ name, value }) => [name, value]);
  return [
    messageId,
    inReplyTo,
    ...references,
    from,
    ...(fromAddresses ?? []),
    ...to,
    ...cc,
    ...replyTo,
    subject,
    ...names,
    ...headers,
  ].filter((text) => text !== null);
}

function check(message: ParsedMessage, raw: Buffer): void {
  const lines = linesOf(message);
  expect(lines.filter((line) => /[\p{Cc}\p{Surrogate}\u2028\u2029]/u.test(line))).toEqual([]);
  for (const text of [message.text, message.html]) expect(text ?? '').not.toMatch(/[\0\p{Surrogate}]/u);
  expect(message.headers.length).toBeLessThanOrEqual(HEADER_LINES_MAX);
  expect(message.references.length).toBeLessThanOrEqual(REFERENCES_MAX);
  expect(message.attachments.reduce((sum, { content }) => sum + content.length, 0)).toBeLessThanOrEqual(
    raw.length,
  );
  for (const { filename } of message.attachments) {
    expect(filename ?? '').not.toMatch(/[/\\]|^\.\.?$/);
    expect((filename ?? '').length).toBeLessThanOrEqual(LINE_CHARACTERS_MAX);
  }
  const characters = (message.text ?? '').length + (message.html ?? '').length;
  expect(characters).toBeLessThanOrEqual(3 * raw.length + 1_000);
}

test('any mutation of a message is read within the limits, as text that Postgres accepts', async () => {
  // fast-check prints the seed of a failed run.
  await fc.assert(
    fc.asyncProperty(mutated, async (raw) => {
      check(await parseMessage(raw), raw);
    }),
    { numRuns: MESSAGES },
  );
});
