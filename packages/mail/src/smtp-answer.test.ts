import { expect, test } from '@jest/globals';
import { reportsOf, resultOfFault } from './smtp-answer.ts';
import type { SmtpFault } from './smtp-answer.ts';

const NO_ANSWER = 'no answer from the mail server';
const NO_LOGIN = 'the mail server does not accept our login';

test.each<[Partial<SmtpFault> & { message: string }, string, string]>([
  [{ message: 'read ECONNRESET', code: 'ESOCKET' }, NO_ANSWER, 'ECONNRESET'],
  [{ message: 'Connection closed', code: 'ECONNECTION' }, NO_ANSWER, 'ECONNECTION'],
  [{ message: 'something new' }, NO_ANSWER, 'unknown'],
  [{ message: 'Invalid login', code: 'EAUTH', responseCode: 535 }, NO_LOGIN, '535'],
  [{ message: 'Missing credentials', code: 'EAUTH' }, NO_LOGIN, 'no reply'],
])('%j is deferred with a plain sentence, and its code for the operator', (fields, error, code) => {
  const fault: SmtpFault = Object.assign(new Error(fields.message), fields);
  expect(resultOfFault(fault, [])).toEqual({ kind: 'deferred', error, code });
});

test.each([530, 534, 535, 538])(
  'reply %d wants another login or encryption: the message is deferred',
  (responseCode) => {
    const fields = { code: 'EENVELOPE', responseCode, response: `${responseCode} 5.7.0 Not so` };
    const fault: SmtpFault = Object.assign(new Error('x'), fields);
    expect(resultOfFault(fault, [])).toEqual({
      kind: 'deferred',
      error: NO_LOGIN,
      code: String(responseCode),
    });
  },
);

test('what the server said itself is told in its words, without a code', () => {
  const fault: SmtpFault = Object.assign(new Error('x'), { code: 'EPROTOCOL', response: '421 4.3.2 later' });
  expect(resultOfFault(fault, [])).toEqual({ kind: 'deferred', error: '421 4.3.2 later' });
});

test.each(['Maximum sending rate exceeded.', 'Daily message quota exceeded.'])(
  'Amazon SES throttles over SMTP, too: %s',
  (why) => {
    const response = `454 Throttling failure: ${why}`;
    const fields = { code: 'EMESSAGE', responseCode: 454, response };
    const fault: SmtpFault = Object.assign(new Error('x'), fields);
    expect(resultOfFault(fault, [])).toEqual({ kind: 'throttled', error: response });
  },
);

test('long words are cut between characters', () => {
  const response = `550 ${'x'.repeat(495)}🎉 and more`;
  const { error } = resultOfFault(
    Object.assign(new Error('x'), { code: 'EMESSAGE', responseCode: 550, response }),
    [],
  ) as {
    error: string;
  };
  expect(error).toBe(`550 ${'x'.repeat(495)}`);
});

const reported = (response: string) => {
  const responseCode = Number(response.slice(0, 3));
  const fault = Object.assign(new Error('x'), { recipient: 'a@b.example', response, responseCode });
  return reportsOf([fault], ['a@b.example']).notifications[0]?.type;
};

test.each([
  '550 5.1.1 <a@b.example>: Recipient address rejected: User unknown',
  '550-5.1.1 The account does not exist\n550 5.1.1 Try another',
  '550 5.1.2 Bad destination system',
  '550 5.1.10 Recipient not found',
  '550 5.1.0 <a@b.example>: Recipient unknown',
  '554 5.1.0 Mailbox unavailable',
  '550 5.1.0 <jane@blackrock.example>: Recipient unknown',
  '550 5.1.0 jane.block@b.example: user unknown',
  '550 <"a block"@b.example>: Recipient unknown',
  '550 5.1.0 Unknown local part',
  '550 5.2.1 The email account is disabled',
  '550 5.2.1 This account is suspended',
  '550 User account suspended',
  '550 No such user here',
  '550 Requested action not taken: mailbox unavailable',
  '551 User not local',
  '553 Mailbox name not allowed',
])('a reply about the mailbox bounces, and so suppresses: %s', (response) => {
  expect(reported(response)).toBe('email.bounced');
});

test.each([
  '552 5.2.2 Mailbox is full',
  '552 5.3.4 Message too big',
  '554 5.7.1 Relay access denied',
  '550 5.4.5 Daily user sending limit exceeded',
  '550 5.7.1 Service unavailable; client blocked using Spamhaus',
  '550 5.7.26 This mail is unauthenticated',
  '553 5.1.8 Sender address rejected: Domain not found',
  '501 5.1.7 Bad sender address syntax',
  '550 5.1.0 <noreply@us.example>: Sender address rejected: User unknown in local recipient table',
  '550 5.1.0 The account is not allowed to send from this address: SPF',
  '550 5.1.0 Authentication required',
  '550 5.1.0 Transaction failed',
  '550 5.1.0 <user@b.example>: Transaction failed',
  '550 5.1.0 user@b.example refused',
  '550 5.1.0 Your IP address is listed at <https://rbl.example/block>',
  '553 Domain us.example does not exist',
  '550 Reverse DNS for 192.0.2.1 does not exist',
  '550 5.1.0 <noreply@us.example>: No such domain',
  '550 Administrative prohibition',
  '550 User a@b.example exceeded the quota',
  '550 Mailbox rejects mail by policy',
  '554 No such user',
  '550-5.2.1 The user you are trying to contact is receiving mail at a rate that\n550 5.2.1 prevents more',
  '550 5.1.90 You have reached your daily limit for message recipients',
  '550 User has exhausted allowed storage space.',
  '550 User has exceeded the storage',
  '550 User has too many messages on the server.',
  '550 Recipient verification problem',
  '550 Mailbox temporarily unavailable',
  '550 Your account is not allowed to go on sending',
])('a reply about us, policy, quota or size suppresses nobody: %s', (response) => {
  expect(reported(response)).toBe('email.soft_bounced');
});

test('a reply of a megabyte is judged by its beginning', () => {
  expect(reported(`550 5.1.0 User unknown ${'x'.repeat(1_000_000)}`)).toBe('email.bounced');
});

test.each([
  '450 4.7.1 Greylisted',
  '452 4.5.3 Too many recipients',
  '552 5.5.3 Too many recipients',
  '552 Too many recipients',
  '450 5.1.1 Try later',
  '530 5.7.0 Authentication required',
  '534 5.7.9 Authentication mechanism is too weak',
  '535 5.7.8 Authentication credentials invalid',
  '538 5.7.11 Encryption required for requested authentication mechanism',
])('a reply that may be different next time defers: %s', (response) => {
  expect(reported(response)).toBe('email.delivery_delayed');
});
