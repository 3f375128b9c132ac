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
  test.each<[string, Partial<Verdicts>, string | null]>([
    ['not when nothing speaks against it', {}, null],
    ['not when nothing was judged', { auth: { spf: 'none', dkim: 'none', dmarc: 'none' }, spam: null }, null],
    ['for a virus', { virus: true }, 'virus'],
    ['for spam', { spam: true }, 'spam'],
    ['when DMARC fails under reject', { auth: dmarc('fail') }, 'auth_failed'],
    ['when DMARC fails under quarantine', { auth: dmarc('fail'), dmarcPolicy: 'quarantine' }, 'auth_failed'],
    ['not when DMARC fails under none', { auth: dmarc('fail'), dmarcPolicy: 'none' }, null],
    ['first for a virus', { virus: true, spam: true, auth: dmarc('fail') }, 'virus'],
    ['then for spam', { spam: true, auth: dmarc('fail') }, 'spam'],
  ])('%s', (_, verdicts, reason) => {
    expect(heldReason({ ...CLEAN, ...verdicts })).toBe(reason);
  });

  test.each<AuthResult>(['pass', 'softfail', 'neutral', 'none', 'temperror', 'permerror'])(
    'not by a domain that asks for reject when DMARC is %s, whatever SPF and DKIM are',
    (word) => {
      const auth = { spf: 'fail', dkim: 'fail', dmarc: word } as const;
      expect(heldReason({ ...CLEAN, auth })).toBeNull();
    },
  );
});
