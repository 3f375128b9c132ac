import { describe, expect, test } from '@jest/globals';
import { heldReason } from './held-reason.ts';
import type { AuthResult } from '@postrider/domain';
import type { Verdicts } from './verdicts.ts';

const CLEAN: Verdicts = {
  auth: { spf: 'pass', dkim: 'pass', dmarc: 'pass' },
  dmarcPolicy: 'reject',
  virus: false,
  spam: false,
};
const dmarc = (word: AuthResult) => ({ ...CLEAN.auth, dmarc: word });

describe('a message is held', () => {
  test.each<[string, Partial<Verdicts>, boolean, string | null]>([
    ['not when nothing speaks against it', {}, false, null],
    [
      'not when nothing was judged',
      { auth: { spf: 'none', dkim: 'none', dmarc: 'none' }, spam: null },
      false,
      null,
    ],
    ['for a virus', { virus: true }, false, 'virus'],
    ['for spam', { spam: true }, false, 'spam'],
    ['when DMARC fails under reject', { auth: dmarc('fail') }, false, 'auth_failed'],
    [
      'when DMARC fails under quarantine',
      { auth: dmarc('fail'), dmarcPolicy: 'quarantine' },
      false,
      'auth_failed',
    ],
    ['not when DMARC fails under none', { auth: dmarc('fail'), dmarcPolicy: 'none' }, false, null],
    ['for its blocked sender', {}, true, 'blocked_sender'],
    ['first for a virus', { virus: true, spam: true, auth: dmarc('fail') }, true, 'virus'],
    ['then for spam', { spam: true, auth: dmarc('fail') }, true, 'spam'],
    ['then for DMARC', { auth: dmarc('fail') }, true, 'auth_failed'],
    [
      'for its sender when DMARC does not hold it',
      { auth: dmarc('fail'), dmarcPolicy: 'none' },
      true,
      'blocked_sender',
    ],
  ])('%s', (_, verdicts, isBlocked, reason) => {
    expect(heldReason({ ...CLEAN, ...verdicts }, isBlocked)).toBe(reason);
  });

  test.each<AuthResult>(['pass', 'softfail', 'neutral', 'none', 'temperror', 'permerror'])(
    'not by a domain that asks for reject when DMARC is %s, whatever SPF and DKIM are',
    (word) => {
      const auth = { spf: 'fail', dkim: 'fail', dmarc: word } as const;
      expect(heldReason({ ...CLEAN, auth }, false)).toBeNull();
    },
  );
});
