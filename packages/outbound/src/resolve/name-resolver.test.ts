import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type DnsServer, type NameReply, startNameServer } from '@postrider/testing';
import { NameLookupError, NameResolver, NameServersUnreachableError } from './name-resolver.ts';

let server: DnsServer | null = null;
let resolver: NameResolver | null = null;

afterEach(async () => {
  resolver?.close();
  await server?.close();
  [resolver, server] = [null, null];
});

async function start(reply: (name: string, type: 'A' | 'AAAA') => NameReply, nowMs?: () => number) {
  server = await startNameServer(reply);
  resolver = new NameResolver({ servers: [server.address], ...(nowMs === undefined ? {} : { nowMs }) });
  return { resolver, queries: server.questions };
}

describe('resolve', () => {
  test('gives the IPv4 and then the IPv6 addresses', async () => {
    const { resolver } = await start(() => ({
      addresses: ['2606:4700::1', '192.0.2.1', '192.0.2.2', '::ffff:10.0.0.1'],
    }));
    const addresses = await resolver.resolve('hooks.example.com');
    expect(addresses.slice(0, 2).sort()).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(addresses.slice(2).sort()).toEqual(['2606:4700::1', '::ffff:10.0.0.1']);
  });

  test.each<[string, NameReply]>([
    ['fails', 'servfail'],
    ['does not exist', 'nxdomain'],
    ['stays silent', 'silence'],
  ])('is content with one family when the other %s', async (_, reply) => {
    const { resolver } = await start((_name, type) => (type === 'A' ? { addresses: ['192.0.2.1'] } : reply));
    expect(await resolver.resolve('hooks.example.com')).toEqual(['192.0.2.1']);
  });

  test('asks again when a question gets no answer', async () => {
    const asked = new Set<string>();
    const { resolver, queries } = await start((_name, type) => {
      if (asked.has(type)) return { addresses: ['192.0.2.1'] };
      asked.add(type);
      return 'silence';
    });
    expect(await resolver.resolve('hooks.example.com')).toEqual(['192.0.2.1']);
    expect(queries).toHaveLength(4);
  });

  test('gives every address of a long answer', async () => {
    const many = Array.from({ length: 100 }, (_, index) => `192.0.2.${index}`);
    const { resolver } = await start(() => ({ addresses: many }));
    expect([...(await resolver.resolve('many.example.com'))].sort()).toEqual([...many].sort());
  });

  test('rejects an answer of over 256 addresses, and asks again after 5 s', async () => {
    let now = 1_000_000;
    let count = 257;
    const many = () => Array.from({ length: count }, (_, index) => `192.0.${index >> 8}.${index & 255}`);
    const { resolver, queries } = await start(
      () => ({ addresses: many(), ttlSeconds: 30 }),
      () => now,
    );
    const lookUp = () => resolver.resolve('many.example.com');
    await expect(lookUp()).rejects.toThrow(
      new NameLookupError('DNS: many.example.com has too many addresses'),
    );
    count = 256;
    now += 5_000;
    await expect(lookUp()).rejects.toThrow(NameLookupError);
    expect(queries).toHaveLength(2);
    now += 1;
    expect(await lookUp()).toHaveLength(256);
  });

  test('rejects with a line for the owner of the endpoint', async () => {
    const { resolver } = await start(() => 'nxdomain');
    const failure = resolver.resolve('gone.example.com');
    await expect(failure).rejects.toThrow(NameLookupError);
    await expect(failure).rejects.toThrow('DNS: gone.example.com does not exist');
  });
});

describe('the name servers of the machine', () => {
  test('are read again within 5 s of a change', async () => {
    let now = 1_000_000;
    const old = await startNameServer(() => 'silence');
    const current = await startNameServer(() => ({ addresses: ['192.0.2.1'] }));
    const folder = await mkdtemp(join(tmpdir(), 'resolv-'));
    const file = join(folder, 'resolv.conf');
    try {
      await writeFile(file, old.address);
      const create = (from: string) => {
        const made = new Resolver({ timeout: 100, tries: 1 });
        made.setServers([readFileSync(from, 'utf8')]);
        return made;
      };
      resolver = new NameResolver({ systemServers: { file, create }, nowMs: () => now });
      await expect(resolver.resolve('hooks.example.com')).rejects.toThrow(NameLookupError);
      await writeFile(file, current.address);
      now += 5_001;
      expect(await resolver.resolve('hooks.example.com')).toEqual(['192.0.2.1']);
    } finally {
      await Promise.all([old.close(), current.close(), rm(folder, { recursive: true })]);
    }
  });

  test('stay the ones that are known while the file cannot be read, and are read again later', async () => {
    let now = 1_000_000;
    const old = await startNameServer(() => ({ addresses: ['192.0.2.9'] }));
    const current = await startNameServer(() => ({ addresses: ['192.0.2.1'] }));
    const folder = await mkdtemp(join(tmpdir(), 'resolv-'));
    const file = join(folder, 'resolv.conf');
    let address: string | null = old.address;
    const create = () => {
      if (address === null) throw Object.assign(new Error('cannot read'), { code: 'EACCES' });
      const made = new Resolver({ timeout: 100, tries: 1 });
      made.setServers([address]);
      return made;
    };
    try {
      resolver = new NameResolver({ systemServers: { file, create }, nowMs: () => now });
      await writeFile(file, 'changed');
      now += 5_001;
      address = null;
      expect(await resolver.resolve('one.example.com')).toEqual(['192.0.2.9']);
      now += 5_001;
      ({ address } = current);
      expect(await resolver.resolve('two.example.com')).toEqual(['192.0.2.1']);
    } finally {
      await Promise.all([old.close(), current.close(), rm(folder, { recursive: true })]);
    }
  });

  test('are at fault, and no endpoint is, when none takes a query', async () => {
    const gone = await startNameServer(() => 'silence');
    await gone.close();
    resolver = new NameResolver({ servers: [gone.address] });
    await expect(resolver.resolve('hooks.example.com')).rejects.toThrow(NameServersUnreachableError);
    await expect(resolver.resolveIpv6('hooks.example.com')).rejects.toThrow(NameServersUnreachableError);
  });

  test.each(['ENOMEM', 'EFILE', 'EMFILE', 'ENFILE', 'ENOTINITIALIZED'])(
    'were not asked, and no endpoint is at fault, when a query ends with %s',
    async (code) => {
      const fail = async () => Promise.reject(Object.assign(new Error(code), { code }));
      const create = () => Object.assign(new Resolver(), { resolve4: fail, resolve6: fail });
      resolver = new NameResolver({ systemServers: { file: 'none', create } });
      await expect(resolver.resolve('hooks.example.com')).rejects.toThrow(NameServersUnreachableError);
      await expect(resolver.resolveIpv6('hooks.example.com')).rejects.toThrow(NameServersUnreachableError);
    },
  );
});

describe('what is kept', () => {
  test('concurrent lookups of one name share one query per family', async () => {
    const { resolver, queries } = await start(() => ({ addresses: ['192.0.2.1'] }));
    await Promise.all(Array.from({ length: 50 }, () => resolver.resolve('hooks.example.com')));
    expect(queries).toHaveLength(2);
  });

  test.each([
    ['as long as its TTL', 10, 10_000],
    ['30 s at most', 86_400, 30_000],
    ['1 s at least', 0, 1000],
  ])('an answer is kept %s', async (_, ttlSeconds, keptMs) => {
    let now = 1_000_000;
    const { resolver, queries } = await start(
      () => ({ addresses: ['192.0.2.1'], ttlSeconds }),
      () => now,
    );
    await resolver.resolve('hooks.example.com');
    now += keptMs;
    await resolver.resolve('hooks.example.com');
    expect(queries).toHaveLength(2);
    now += 1;
    await resolver.resolve('hooks.example.com');
    expect(queries).toHaveLength(4);
  });

  test('a failure is kept for 5 s, and then asked again', async () => {
    let now = 1_000_000;
    let reply: NameReply = 'nxdomain';
    const { resolver, queries } = await start(
      () => reply,
      () => now,
    );
    await expect(resolver.resolve('new.example.com')).rejects.toThrow(NameLookupError);
    reply = { addresses: ['192.0.2.1'] };
    await expect(resolver.resolve('new.example.com')).rejects.toThrow(NameLookupError);
    expect(queries).toHaveLength(2);
    now += 5001;
    expect(await resolver.resolve('new.example.com')).toEqual(['192.0.2.1']);
  });

  test('is of 100,000 addresses, those asked for last', async () => {
    const addresses = Array.from({ length: 250 }, (_, index) => `192.0.2.${index}`);
    const { resolver, queries } = await start(
      () => ({ addresses }),
      () => 0,
    );
    for (let n = 0; n <= 400; n += 1) await resolver.resolve(`c${n}.example.com`);
    const asked = queries.length;
    await resolver.resolve('c1.example.com');
    expect(queries).toHaveLength(asked);
    await resolver.resolve('c0.example.com');
    expect(queries).toHaveLength(asked + 2);
  });

  test('is of 10,000 names, those asked for last', async () => {
    const { resolver, queries } = await start(
      (name) => (name.startsWith('c1') ? 'nxdomain' : { addresses: ['192.0.2.1'] }),
      () => 0,
    );
    const ask = (n: number) => resolver.resolve(`c${n}.example.com`).catch(() => undefined);
    for (let n = 0; n < 10_000; n += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => ask(n + index)));
    }
    await ask(10_000);
    const asked = queries.length;
    await ask(1);
    await ask(10_000);
    expect(queries).toHaveLength(asked);
    await ask(0);
    expect(queries).toHaveLength(asked + 2);
  });
});
