import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { message, newSigner, signed, startSenderFixture } from '../../test/sender-fixture.ts';
import type { SenderFixture, Signer } from '../../test/sender-fixture.ts';
import { heldReason } from '../held-reason.ts';

/** The domain that a forger writes into From. */
const VICTIM = 'victim.example';
const TIMEOUT_MS = 400;

let fixture: SenderFixture;
beforeEach(async () => {
  fixture = await startSenderFixture();
  fixture.dns.zone.set(`_dmarc.${VICTIM}`, { TXT: ['v=DMARC1; p=reject'] });
  fixture.dns.zone.set(VICTIM, { TXT: ['v=spf1 -all'] });
});
afterEach(() => fixture.close());

async function judged(...[raw, envelope = {}, options = {}]: Parameters<SenderFixture['authenticate']>) {
  const verdict = await fixture.authenticate(raw, envelope, { timeoutMs: TIMEOUT_MS, ...options });
  return { dmarc: verdict.auth.dmarc, held: heldReason({ ...verdict, virus: false, spam: null }) };
}

const HELD = { dmarc: 'fail', held: 'auth_failed' };

/** A signature whose body hash is right and whose value is garbage. */
async function forged(from: string, signers: readonly Signer[]): Promise<Buffer> {
  let raw = message(from);
  for (const signer of signers) raw = await signed(raw, signer);
  return Buffer.from(raw.toString().replaceAll(/ b=[^;]{8}/g, ' b=AAAAAAAA'));
}

describe.each(['servfail', 'silence'] as const)(
  'a name that the forger chooses and that answers %s',
  (failure) => {
    test('excuses nothing as the domain of a signature', async () => {
      fixture.dns.zone.set(`s1._domainkey.lame.${VICTIM}`, failure);
      expect(await judged(await forged(`ceo@${VICTIM}`, [newSigner(`lame.${VICTIM}`)]))).toEqual(HELD);
    });

    test('excuses nothing as the domains of ten signatures', async () => {
      const signers = Array.from({ length: 10 }, (_, index) =>
        newSigner(`lame${index}.${VICTIM}`, 's1', 'ed25519'),
      );
      for (const { domain } of signers) fixture.dns.zone.set(`s1._domainkey.${domain}`, failure);
      expect(await judged(await forged(`ceo@${VICTIM}`, signers))).toEqual(HELD);
    });

    test('excuses nothing as the domain of MAIL FROM', async () => {
      fixture.dns.zone.set(`lame.${VICTIM}`, failure);
      expect(await judged(message(`ceo@${VICTIM}`), { mailFrom: `ceo@lame.${VICTIM}` })).toEqual(HELD);
    });
  },
);

describe('a From that no reader reads alike', () => {
  test.each([
    'ACME <Sales> <ceo@victim.example>',
    '<CEO> <ceo@victim.example>',
    'CEO (ceo@victim.example)',
    'CEO (x <ceo@victim.example>',
    '=?utf-8?Q?ceo=40victim.example?=',
    '=?utf-8?Q?=3Cceo=40victim.example=3E?=',
    'ceo(aaa\uff09<ceo@victim.example>',
    'ceo@victim.example>',
    '<ceo@victim.example',
    '<ceo@ victim.example>',
    '<ceo@(x)victim.example>',
    '<ceo@victim.example CEO>',
    '"ceo@victim.example"',
    'ceo',
    '',
  ])('is held, with an own signature too: %s', async (from) => {
    const forger = newSigner('forger.example');
    fixture.publish(forger);
    expect(await judged(message(from))).toEqual(HELD);
    expect(await judged(await signed(message(from), forger))).toEqual(HELD);
  });
});

describe('RFC 9989', () => {
  const publish = (name: string, record: string) => fixture.dns.zone.set(`_dmarc.${name}`, { TXT: [record] });
  const policyOf = async (from: string) => {
    const { auth, dmarcPolicy } = await fixture.authenticate(message(from));
    return `${auth.dmarc} ${dmarcPolicy}`;
  };

  test.each([
    ['the test mode weakens the policy', 'p=reject; t=y', 'ceo@t.example', 'fail quarantine'],
    ['a missing name gets np=', 'p=none; np=reject', 'ceo@missing.t.example', 'fail reject'],
    ['pct= means nothing any more', 'p=reject; pct=0', 'ceo@t.example', 'fail reject'],
  ])('%s', async (_, record, from, result) => {
    publish('t.example', `v=DMARC1; ${record}`);
    expect(await policyOf(from)).toBe(result);
  });

  test('the version is case-sensitive', async () => {
    publish('t.example', 'v=dmarc1; p=reject');
    expect(await policyOf('ceo@t.example')).toBe('none none');
  });

  test('two customers of one bank suffix are not aligned', async () => {
    const mega = newSigner('mail.mega.bank.example');
    fixture.publish(mega);
    publish('bank.example', 'v=DMARC1; p=reject; psd=y');
    publish('giant.bank.example', 'v=DMARC1; p=reject');
    publish('mega.bank.example', 'v=DMARC1; p=reject');
    expect(await judged(await signed(message('ceo@giant.bank.example'), mega))).toEqual(HELD);
  });

  test('a customer below a suffix is not aligned with its owner, also while the suffix does not answer', async () => {
    const customer = newSigner('shop.sites.victim.example');
    fixture.publish(customer);
    const raw = await signed(message(`ceo@${VICTIM}`), customer);
    publish(`sites.${VICTIM}`, 'v=DMARC1; p=reject; psd=y');
    expect(await judged(raw)).toEqual(HELD);
    fixture.dns.zone.set(`_dmarc.sites.${VICTIM}`, 'servfail');
    expect(await judged(raw)).toEqual(HELD);
  });
});
