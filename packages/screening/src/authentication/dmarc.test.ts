import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { message, newSigner, signed, startSenderFixture } from '../../test/sender-fixture.ts';
import type { SenderFixture } from '../../test/sender-fixture.ts';
import { heldReason } from '../held-reason.ts';

const signer = newSigner('example.com');
const below = newSigner('news.example.com');
const stranger = newSigner('example.net');

let fixture: SenderFixture;
beforeEach(async () => {
  fixture = await startSenderFixture();
  fixture.publish(signer, below, stranger);
});
afterEach(() => fixture.close());

function publish(domain: string, ...records: string[]): void {
  fixture.dns.zone.set(`_dmarc.${domain}`, { TXT: records });
}

function permit(domain: string): void {
  fixture.dns.zone.set(domain, { TXT: ['v=spf1 ip4:192.0.2.10 -all'] });
}

function encodedWord(text: string): string {
  return `=?utf-8?b?${Buffer.from(text).toString('base64')}?=`;
}

async function dmarcOf(...args: Parameters<SenderFixture['authenticate']>): Promise<string> {
  const { auth, dmarcPolicy } = await fixture.authenticate(...args);
  return `${auth.dmarc} ${dmarcPolicy}`;
}

describe('DMARC passes', () => {
  beforeEach(() => publish('example.com', 'unrelated', 'v=DMARC1; p=reject; rua=mailto:dmarc@example.com'));

  test('by a signature of the domain', async () => {
    expect(await dmarcOf(await signed(message(), signer))).toBe('pass reject');
  });
  test('by SPF of the domain', async () => {
    permit('example.com');
    expect(await dmarcOf(message())).toBe('pass reject');
  });
  test('by SPF of HELO for the null sender', async () => {
    permit('mx.example.com');
    expect(await dmarcOf(message(), { mailFrom: '' })).toBe('pass reject');
  });
  test('by a signature of a domain below it', async () => {
    expect(await dmarcOf(await signed(message(), below))).toBe('pass reject');
  });
  test('for a domain below that has no record of its own', async () => {
    expect(await dmarcOf(await signed(message('ann@other.example.com'), below))).toBe('pass reject');
  });
  test('for a group of authors', async () => {
    expect(await dmarcOf(await signed(message('Team: ann@example.com, bob@example.com;'), signer))).toBe(
      'pass reject',
    );
  });
});

describe('DMARC fails', () => {
  beforeEach(() => publish('example.com', 'v=DMARC1; p=reject; sp=quarantine'));

  test('for an author behind a byte order mark', async () => {
    expect(await dmarcOf(Buffer.concat([Buffer.from('\ufeff'), message()]))).toBe('fail quarantine');
  });
  test('for an author in an encoded word', async () => {
    expect(await dmarcOf(message(encodedWord('<ann@example.com>')))).toBe('fail quarantine');
  });
  describe.each([
    ['95 spaces', ' '.repeat(95)],
    ['96 spaces', ' '.repeat(96)],
    ['5,000 spaces', ' '.repeat(5000)],
    ['5,000 tabs', '\t'.repeat(5000)],
  ])('for an author behind a name with %s before its colon', (_, blanks) => {
    const field = Buffer.from(`From${blanks}: ceo@example.com\r\n`);
    test('alone', async () => {
      expect(await dmarcOf(Buffer.concat([field, message([])]))).toBe('fail reject');
    });
    test('above a message that passes', async () => {
      publish('example.net', 'v=DMARC1; p=none');
      const raw = await signed(message('x@example.net'), stranger);
      expect(await dmarcOf(raw)).toBe('pass none');
      expect(await dmarcOf(Buffer.concat([field, raw]))).toBe('fail quarantine');
    });
  });
  test('without any authentication', async () => {
    expect(await dmarcOf(message())).toBe('fail reject');
  });
  test('when only another domain vouches for the message', async () => {
    permit('example.net');
    expect(await dmarcOf(await signed(message(), stranger), { mailFrom: 'x@example.net' })).toBe(
      'fail reject',
    );
  });
  test('for a domain below, by the policy for these', async () => {
    expect(await dmarcOf(message('ann@news.example.com'))).toBe('fail quarantine');
  });
  test('by the record of the domain below, if it has one', async () => {
    publish('news.example.com', 'v=DMARC1; p=none; sp=reject');
    expect(await dmarcOf(message('ann@news.example.com'))).toBe('fail none');
  });
  test('for a member of a group', async () => {
    expect(await dmarcOf(message('CEO: ceo@example.com;'))).toBe('fail reject');
  });
  test.each([
    'ceo@example.com>',
    '<ceo@example.com',
    'ceo@EXAMPLE.com.',
    'ceo@example.com (x@example.net)',
    '<ceo@ example.com>',
    '<ceo@\r\n example.com>',
    '<ceo@(x)example.com>',
    '<ceo@example .com>',
    '<ceo@example.com CEO>',
    '<ceo@example.com(@example.net)>',
  ])('for an address that is malformed or unusual: %j', async (from) => {
    expect(await dmarcOf(message(from))).toBe('fail reject');
  });
  test.each(['<ceo@xn--zzzz.example.com>', '<ceo@a^b.example.com>', `<ceo@${'a'.repeat(64)}.example.com>`])(
    'for a domain below with a label that no host has: %s',
    async (from) => {
      expect(await dmarcOf(message(from))).toBe('fail quarantine');
    },
  );
  test.each(['<ceo@(x)>', '<ceo@example.com@>', '<ceo@..>'])(
    'for an address whose domain cannot be read, to be quarantined: %s',
    async (from) => {
      expect(await dmarcOf(message(from))).toBe('fail quarantine');
    },
  );
  test('for a domain beyond ASCII', async () => {
    publish('xn--bcher-kva.example', 'v=DMARC1; p=quarantine');
    expect(await dmarcOf(message('ann@BÜCHER.example'))).toBe('fail quarantine');
  });
  test('by a signature whose l= leaves out what was added', async () => {
    const raw = await signed(message(), signer, { maxBodyLength: 'Hello\r\n'.length });
    expect(await dmarcOf(raw)).toBe('pass reject');
    expect(await dmarcOf(Buffer.concat([raw, Buffer.from('more\r\n')]))).toBe('fail reject');
  });
  test('not over LMTP, where SPF might have passed', async () => {
    const lmtp = { spf: false };
    expect(await dmarcOf(message(), {}, lmtp)).toBe('none reject');
    expect(await dmarcOf(await signed(message(), signer), {}, lmtp)).toBe('pass reject');
  });
});

describe('alignment', () => {
  test.each([
    ['adkim=r', 'pass reject'],
    ['adkim=s', 'fail reject'],
  ])('of a signature by a domain below, %s', async (mode, result) => {
    publish('example.com', `v=DMARC1; p=reject; ${mode}`);
    expect(await dmarcOf(await signed(message(), below))).toBe(result);
  });

  test.each([
    ['aspf=r', 'pass reject'],
    ['aspf=s', 'fail reject'],
  ])('of SPF for a domain below, %s', async (mode, result) => {
    publish('example.com', `v=DMARC1; p=reject; ${mode}`);
    permit('bounce.example.com');
    expect(await dmarcOf(message(), { mailFrom: 'x@bounce.example.com' })).toBe(result);
  });

  test('strict, of the same domain', async () => {
    publish('example.com', 'v=DMARC1; p=reject; adkim=s; aspf=s');
    permit('example.com');
    expect(await dmarcOf(await signed(message(), signer), { mailFrom: 'x@example.net' })).toBe('pass reject');
    expect(await dmarcOf(message())).toBe('pass reject');
  });

  test('does not join two owners below one public suffix', async () => {
    const other = newSigner('mallory.co.uk');
    fixture.publish(other);
    publish('bank.co.uk', 'v=DMARC1; p=reject');
    expect(await dmarcOf(await signed(message('ann@bank.co.uk'), other))).toBe('fail reject');
  });
});

describe('the policy', () => {
  test.each([
    ['v=DMARC1; p=none', 'fail none'],
    ['v=DMARC1; p=quarantine', 'fail quarantine'],
    ['v=DMARC1;p=REJECT', 'fail reject'],
    ['v=DMARC1; p=reject; pct=50', 'fail reject'],
    ['v=DMARC1; p=reject; pct=0', 'fail reject'],
    ['v=DMARC1; rua=mailto:x@example.com', 'fail none'],
    ['v=DMARC1; p=whatever', 'none none'],
    ['v=DMARC2; p=reject', 'none none'],
    ['p=reject', 'none none'],
  ])('%s', async (record, result) => {
    publish('example.com', record);
    expect(await dmarcOf(message())).toBe(result);
  });

  test('of two records is none', async () => {
    publish('example.com', 'v=DMARC1; p=reject', 'v=DMARC1; p=none');
    expect(await dmarcOf(message())).toBe('none none');
  });

  test('of no record is none', async () => {
    expect(await dmarcOf(message())).toBe('none none');
  });
});

describe('while the name servers of the author fail', () => {
  async function expectUnavailable(...[raw, envelope]: Parameters<SenderFixture['authenticate']>) {
    const verdict = await fixture.authenticate(raw, envelope, { timeoutMs: 300 });
    expect(verdict).toMatchObject({ auth: { dmarc: 'temperror' }, isAuthorUnavailable: true });
    expect(heldReason({ ...verdict, virus: false, spam: null })).toBeNull();
  }

  test('all of them, in silence, the policy is unavailable', async () => {
    fixture.dns.zone.clear();
    fixture.dns.otherwise = 'silence';
    await expectUnavailable(await signed(message(), signer));
  });

  test('of one author of several, the policy is unavailable', async () => {
    publish('example.net', 'v=DMARC1; p=reject');
    fixture.dns.zone.set('_dmarc.example.com', 'servfail');
    const from = 'x@example.net, ann@example.com';
    await expectUnavailable(await signed(message(from), stranger));
  });

  test.each(['servfail', 'silence'] as const)('at the policy, it is unavailable: %s', async (failure) => {
    fixture.dns.zone.set('_dmarc.example.com', failure);
    await expectUnavailable(message());
  });

  test('a message that passes all the same is not late', async () => {
    publish('news.example.com', 'v=DMARC1; p=reject');
    fixture.dns.zone.set('_dmarc.example.com', 'servfail');
    const verdict = await fixture.authenticate(await signed(message('ann@news.example.com'), below));
    expect(verdict).toMatchObject({ auth: { dmarc: 'pass' }, isAuthorUnavailable: false });
  });

  test('for a domain below only, the policy of the domain above applies', async () => {
    publish('example.com', 'v=DMARC1; p=reject');
    fixture.dns.zone.set('_dmarc.lame.example.com', 'servfail');
    const verdict = await fixture.authenticate(message('ceo@lame.example.com'));
    expect(verdict).toMatchObject({
      auth: { dmarc: 'fail' },
      dmarcPolicy: 'reject',
      isAuthorUnavailable: true,
    });
  });

  test('at the domain below that vouches for a message, it may pass later', async () => {
    publish('example.com', 'v=DMARC1; p=reject');
    fixture.dns.zone.set('_dmarc.news.example.com', 'servfail');
    const verdict = await fixture.authenticate(await signed(message(), below));
    expect(verdict).toMatchObject({ auth: { dmarc: 'fail' }, isAuthorUnavailable: true });
    publish('example.com', 'v=DMARC1; p=none');
    const unheld = await fixture.authenticate(await signed(message(), below));
    expect(unheld).toMatchObject({ auth: { dmarc: 'fail' }, isAuthorUnavailable: false });
  });
});

describe('a check without an answer counts as absent', () => {
  beforeEach(() => publish('example.com', 'v=DMARC1; p=reject'));

  test.each(['servfail', 'silence'] as const)('the key: %s', async (failure) => {
    fixture.dns.zone.set('s1._domainkey.example.com', failure);
    expect(await dmarcOf(await signed(message(), signer), {}, { timeoutMs: 300 })).toBe('fail reject');
  });

  test.each(['servfail', 'silence'] as const)('SPF: %s', async (failure) => {
    fixture.dns.zone.set('example.com', failure);
    expect(await dmarcOf(message(), {}, { timeoutMs: 300 })).toBe('fail reject');
  });
});

describe('a message with several authors', () => {
  beforeEach(() => {
    publish('example.com', 'v=DMARC1; p=quarantine');
    publish('bank.example', 'v=DMARC1; p=reject');
  });

  test.each([
    ['in one field', 'ann@example.com, ceo@bank.example'],
    ['in a group', 'Both: ann@example.com, ceo@bank.example;'],
  ])('fails by the one that fails, %s', async (_, from) => {
    expect(await dmarcOf(await signed(message(from), signer))).toBe('fail reject');
  });

  test('passes when all of them pass', async () => {
    const bank = newSigner('bank.example');
    fixture.publish(bank);
    const raw = await signed(await signed(message('ann@example.com, ceo@bank.example'), bank), signer);
    expect(await dmarcOf(raw)).toBe('pass reject');
  });

  test('is none when one of them publishes nothing', async () => {
    expect(await dmarcOf(await signed(message('ann@example.com, bob@nothing.example'), signer))).toBe(
      'none none',
    );
  });

  test('fails when there are too many to ask for', async () => {
    const from = ['a', 'b', 'c', 'd', 'e'].map((name) => `x@${name}.example`).join(', ');
    expect(await dmarcOf(message(from))).toBe('fail quarantine');
    expect(fixture.dns.questions.filter((question) => question.startsWith('_dmarc'))).toEqual([]);
  });

  test('cannot hide one behind 1,000 repeats of another', async () => {
    const from = `${'ann@example.com, '.repeat(1_000)}ceo@bank.example`;
    expect(await dmarcOf(await signed(message(from), signer))).toBe('fail reject');
  });

  test('fails in two fields, whoever they are', async () => {
    expect(await dmarcOf(await signed(message(['ann@example.com', 'ann@example.com']), signer))).toBe(
      'fail quarantine',
    );
  });

  test('cannot hide one behind a header beyond the bounds', async () => {
    const header = `From: ann@nothing.example\r\n${'X: 1\r\n'.repeat(5_000)}`;
    expect(await dmarcOf(Buffer.from(`${header}From: ceo@bank.example\r\n\r\nHi\r\n`))).toBe(
      'fail quarantine',
    );
  });
});

test.each(['To: x@example.com\r\n\r\nHi', 'From: nobody\r\n\r\nHi', 'From:\r\n\r\nHi', '\r\nHi'])(
  'a message without an author fails: %j',
  async (raw) => {
    expect(await dmarcOf(Buffer.from(raw))).toBe('fail quarantine');
  },
);
