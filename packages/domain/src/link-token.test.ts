import { expect, test } from '@jest/globals';
import { createLinkTokens } from './link-token.ts';
import { createUnsubscribeTokens } from './unsubscribe-token.ts';
import type { AccountId, AttachmentId, EmailId, MessageId, TopicId } from './ids.ts';

const FIRST = Buffer.alloc(32, 1);
const SECOND = Buffer.alloc(32, 2);
const MESSAGE = 'msg_01jd0000000000000000000001' as MessageId;
const RAW = { messageId: MESSAGE, attachmentId: null };
const ATTACHED = { messageId: MESSAGE, attachmentId: 'att_01jd0000000000000000000001' as AttachmentId };
const SENT = { emailId: 'em_01jd0000000000000000000001' as EmailId, position: 1 };
const MADE_AT = Date.parse('2026-03-01T12:00:00.000Z');
const SEVEN_DAYS_MS = 7 * 24 * 60 * 60 * 1000;

const at = (ms: number) => ({ now: () => new Date(ms) });
const tokens = createLinkTokens([FIRST], at(MADE_AT));

test.each([RAW, ATTACHED, SENT])('a token opens to what it was made of, and names nothing: %j', (target) => {
  const { token } = tokens.seal(target);
  expect(tokens.open(token)).toEqual(target);
  expect(token).toMatch(/^[\w-]{100,200}$/);
  expect(Buffer.from(token, 'base64url').toString('latin1')).not.toMatch(/msg_|att_|em_/);
});

test('a token is good for seven days to the millisecond, and says so', () => {
  const { token, expiresAt } = tokens.seal(RAW);
  expect(expiresAt.getTime()).toBe(MADE_AT + SEVEN_DAYS_MS);
  expect(createLinkTokens([FIRST], at(MADE_AT + SEVEN_DAYS_MS - 1)).open(token)).toEqual(RAW);
  expect(createLinkTokens([FIRST], at(MADE_AT + SEVEN_DAYS_MS)).open(token)).toBeNull();
});

test('any key of the list opens, the first one seals', () => {
  const { token: old } = tokens.seal(RAW);
  const rotated = createLinkTokens([SECOND, FIRST], at(MADE_AT));
  expect(rotated.open(old)).toEqual(RAW);
  expect(tokens.open(rotated.seal(RAW).token)).toBeNull();
});

test('one that was altered, cut or lengthened anywhere is no token', () => {
  const { token } = tokens.seal(ATTACHED);
  const bytes = Buffer.from(token, 'base64url');
  for (let place = 0; place < bytes.length; place += 1) {
    const altered = Buffer.from(bytes);
    altered[place] = (altered[place] ?? 0) ^ 1;
    expect(tokens.open(altered.toString('base64url'))).toBeNull();
  }
  for (let length = 0; length < token.length; length += 1)
    expect(tokens.open(token.slice(0, length))).toBeNull();
  for (const more of ['A', '=', ' ', 'A'.repeat(10_000)]) expect(tokens.open(token + more)).toBeNull();
});

test('a token to unsubscribe is no link, nor a link one to unsubscribe', () => {
  const unsubscribes = createUnsubscribeTokens([FIRST]);
  const target = { accountId: 'acct_1' as AccountId, topicId: 'top_1' as TopicId, address: 'a@a.example' };
  expect(tokens.open(unsubscribes.seal(target))).toBeNull();
  expect(unsubscribes.open(tokens.seal(RAW).token)).toBeNull();
});
