import { describe, expect, test } from '@jest/globals';
import { readFault } from './fault.ts';

const NO_ANSWER = 'no answer from the mail provider';

/**
 * An error as plain Node gives it to the SDK. Jest's VM hides `code` from the SDK, so these tests need no
 * server.
 */
function nodeError(code: string, message = ''): Error {
  return Object.assign(new Error(message), { code });
}

describe('a fault of the connection has a plain sentence for the customer, and its code for the operator', () => {
  test.each<[string, unknown, string]>([
    ['a code', nodeError('ECONNRESET', 'read ECONNRESET'), 'ECONNRESET'],
    ['a code of Node', nodeError('ERR_TLS_CERT_ALTNAME_INVALID'), 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['a code in the message only', new Error('connect ECONNREFUSED 10.0.0.7:443'), 'ECONNREFUSED'],
    ['a name only', Object.assign(new Error('x'), { name: 'TimeoutError' }), 'TimeoutError'],
    ['nothing to name', {}, 'unknown'],
  ])('%s', (_what, error, code) => {
    expect(readFault(error)).toEqual({ kind: 'passing', name: null, sentence: NO_ANSWER, code });
  });
});
