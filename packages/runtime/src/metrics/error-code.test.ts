import { expect, test } from '@jest/globals';
import { errorCode } from './error-code.ts';

const withCode = (code: unknown, cause?: unknown) => Object.assign(new Error('x', { cause }), { code });
/** As Prisma reports an error of Postgres. The innermost cause is no Error. */
const ofPrisma = (code: string, cause: object) =>
  Object.assign(withCode(code), { meta: { driverAdapterError: new Error('x', { cause }) } });
const loop = new Error('loop');
loop.cause = loop;

test.each([
  ['the SQLSTATE', withCode('57P01'), '57P01'],
  [
    'the code of a cause',
    new Error('x', { cause: withCode(undefined, withCode('ECONNREFUSED')) }),
    'ECONNREFUSED',
  ],
  [
    'the SQLSTATE that Prisma hides behind a code of its own',
    new Error('x', { cause: ofPrisma('P2010', { kind: 'postgres', originalCode: '55P03' }) }),
    '55P03',
  ],
  ['Prisma’s code when there is no SQLSTATE', ofPrisma('P1001', { kind: 'DatabaseNotReachable' }), 'P1001'],
  ['other when there is none', new TypeError('x', { cause: 'text' }), 'other'],
  [
    'other for a code that is no code, so that labels stay few',
    withCode('relation "t_123" does not exist'),
    'other',
  ],
  ['other for what is no error', 'text', 'other'],
  ['other for an error that is its own cause', loop, 'other'],
])('an error is counted under %s', (_what, error, code) => {
  expect(errorCode(error)).toBe(code);
});
