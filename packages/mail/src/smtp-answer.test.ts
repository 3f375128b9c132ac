import { expect, test } from '@jest/globals';
import { resultOfFault } from './smtp-answer.ts';
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
  expect(resultOfFault(fault)).toEqual({ kind: 'deferred', error, code });
});

test('what the server said itself is told in its words, without a code', () => {
  const fault: SmtpFault = Object.assign(new Error('x'), { code: 'EPROTOCOL', response: '421 4.3.2 later' });
  expect(resultOfFault(fault)).toEqual({ kind: 'deferred', error: '421 4.3.2 later' });
});
