import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { message, SENDING_ADDRESS, startSenderFixture } from '../../test/sender-fixture.ts';
import type { SenderFixture } from '../../test/sender-fixture.ts';
import type { Envelope } from '../verdicts.ts';
import type { AuthenticationOptions } from './authenticate-sender.ts';

let fixture: SenderFixture;
beforeEach(async () => {
  fixture = await startSenderFixture();
});
afterEach(() => fixture.close());

function publishSpf(domain: string, ...terms: string[]): void {
  fixture.dns.zone.set(domain, { TXT: ['unrelated', `v=spf1 ${terms.join(' ')}`] });
}

async function spfOf(
  envelope: Partial<Envelope> = {},
  options: Partial<AuthenticationOptions> = {},
): Promise<string> {
  return (await fixture.authenticate(message(), envelope, options)).auth.spf;
}

describe('SPF', () => {
  test.each([
    ['pass', ['ip4:192.0.2.0/24', '-all']],
    ['fail', ['ip4:198.51.100.0/24', '-all']],
    ['softfail', ['~all']],
    ['neutral', ['?all']],
    ['neutral', ['ip4:198.51.100.1']],
    ['permerror', ['ip4:192.0.2.0/33', '-all']],
  ])('is %s by %j', async (word, terms) => {
    publishSpf('example.com', ...terms);
    expect(await spfOf()).toBe(word);
  });

  test('is none without a record', async () => {
    expect(await spfOf()).toBe('none');
  });

  test('asks for addresses and mail servers', async () => {
    publishSpf('example.com', 'include:_spf.example.net', '-all');
    publishSpf('_spf.example.net', 'mx', '-all');
    fixture.dns.zone.set('_spf.example.net', {
      TXT: ['v=spf1 mx -all'],
      MX: [{ priority: 10, exchange: 'mx1.example.net' }],
    });
    fixture.dns.zone.set('mx1.example.net', { A: [SENDING_ADDRESS] });
    expect(await spfOf()).toBe('pass');
    expect(await spfOf({ remoteAddress: '192.0.2.11' })).toBe('fail');
  });

  test('takes an IPv4 address that a socket for both families gives', async () => {
    publishSpf('example.com', 'ip4:192.0.2.10', '-all');
    expect(await spfOf({ remoteAddress: '::ffff:192.0.2.10' })).toBe('pass');
  });

  test('judges an IPv6 address', async () => {
    publishSpf('example.com', 'ip6:2001:db8::/32', '-all');
    expect(await spfOf({ remoteAddress: '2001:db8::7' })).toBe('pass');
    expect(await spfOf({ remoteAddress: '2001:db9::7' })).toBe('fail');
  });

  test('judges HELO for the null sender', async () => {
    publishSpf('mx.example.com', 'ip4:192.0.2.10', '-all');
    expect(await spfOf({ mailFrom: '' })).toBe('pass');
    expect(await spfOf({ mailFrom: '', helo: '[192.0.2.10]' })).toBe('none');
  });

  test('judges a domain beyond ASCII as DNS has it', async () => {
    publishSpf('xn--bcher-kva.example', 'ip4:192.0.2.10', '-all');
    expect(await spfOf({ mailFrom: 'ann@bücher.example' })).toBe('pass');
  });

  test('judges a domain with a final dot', async () => {
    publishSpf('example.com', 'ip4:192.0.2.10', '-all');
    expect(await spfOf({ mailFrom: 'ann@example.com.' })).toBe('pass');
    expect(await spfOf({ mailFrom: '', helo: 'example.com.' })).toBe('pass');
  });

  test('is none over LMTP, and asks nothing', async () => {
    publishSpf('example.com', '-all');
    expect(await spfOf({}, { spf: false })).toBe('none');
    expect(fixture.dns.questions).not.toContain('example.com TXT');
  });
});

describe('a record that would cost too much is a permerror', () => {
  test('that includes more than ten others', async () => {
    publishSpf('example.com', 'include:i1.example.com', '-all');
    for (let i = 1; i <= 20; i += 1) publishSpf(`i${i}.example.com`, `include:i${i + 1}.example.com`, '-all');
    expect(await spfOf()).toBe('permerror');
    expect(fixture.dns.questions.filter((question) => question.endsWith(' TXT')).length).toBeLessThan(15);
  });

  test('that includes itself', async () => {
    publishSpf('example.com', 'include:example.com', '-all');
    expect(await spfOf()).toBe('permerror');
  });

  test('that asks for names that do not exist', async () => {
    publishSpf(
      'example.com',
      'a:n1.example.com',
      'a:n2.example.com',
      'a:n3.example.com',
      'a:n4.example.com',
      '-all',
    );
    expect(await spfOf()).toBe('permerror');
  });

  test('whose mail servers are too many', async () => {
    const hosts = Array.from({ length: 200 }, (_, index) => `h${index}.example.com`);
    const terms = Array.from({ length: 10 }, (_, index) => `mx:m${index}.example.com`);
    publishSpf('example.com', ...terms, '-all');
    for (let m = 0; m < 10; m += 1)
      fixture.dns.zone.set(`m${m}.example.com`, {
        MX: hosts.slice(m * 10, m * 10 + 10).map((exchange) => ({ priority: 1, exchange })),
      });
    for (const host of hosts) fixture.dns.zone.set(host, { A: ['198.51.100.1'] });
    expect(await spfOf()).toBe('permerror');
    expect(new Set(fixture.dns.questions).size).toBeLessThanOrEqual(110);
  });
});

describe('a name server that fails is a temperror', () => {
  test.each(['servfail', 'silence'] as const)('at the domain: %s', async (failure) => {
    fixture.dns.zone.set('example.com', failure);
    expect(await spfOf({}, { timeoutMs: 300 })).toBe('temperror');
  });

  test.each(['servfail', 'silence'] as const)('in an include: %s', async (failure) => {
    publishSpf('example.com', 'include:_spf.example.net', '-all');
    fixture.dns.zone.set('_spf.example.net', failure);
    expect(await spfOf({}, { timeoutMs: 300 })).toBe('temperror');
  });

  test('but not in the reverse zone, which the sending machine may own', async () => {
    publishSpf('example.com', 'ptr', '-all');
    fixture.dns.zone.set('10.2.0.192.in-addr.arpa', 'servfail');
    expect(await spfOf()).toBe('fail');
  });

  test('when nothing listens', async () => {
    await fixture.dns.close();
    expect(await spfOf()).toBe('temperror');
    fixture = await startSenderFixture();
  });

  test('but not when it answers over TCP what is too long for UDP', async () => {
    fixture.dns.zone.set('example.com', { TXT: ['v=spf1 ip4:192.0.2.10 -all'], truncated: true });
    expect(await spfOf()).toBe('pass');
  });
});
