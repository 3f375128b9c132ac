import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createTestAuthority, type SmtpClient, type TestAuthority } from '@postrider/testing';
import { createTransport } from 'nodemailer';
import { beginMessage, FROM, HOSTNAME, testServers, TO } from '../../test/test-server.ts';
import type { InboundTls } from './inbound-server.ts';

const servers = testServers();

let authority: TestAuthority;
let tls: InboundTls;
let renewed: InboundTls;

async function issue(): Promise<InboundTls> {
  const { certPem, keyPem } = await authority.issue({ names: [HOSTNAME] });
  return { cert: certPem, key: keyPem };
}

beforeAll(async () => {
  authority = await createTestAuthority();
  tls = await issue();
  renewed = await issue();
});

const fingerprint = ({ cert }: InboundTls) => new X509Certificate(cert).fingerprint256;

async function secure(client: SmtpClient): Promise<void> {
  expect(await client.say('STARTTLS')).toMatch(/^220 2\.0\.0 /);
  await client.secure(authority.caPem, HOSTNAME);
}

describe('STARTTLS', () => {
  test('is used by nodemailer, which trusts the authority, and shows in the envelope', async () => {
    const server = await servers.start({ tls });
    const transport = createTransport({
      host: '127.0.0.1',
      port: server.port,
      requireTLS: true,
      tls: { ca: authority.caPem, servername: HOSTNAME },
    });
    await transport.sendMail({ from: 's@client.example', to: 'a@inbox.example', text: 'x' });
    transport.close();
    expect(server.received[0]?.envelope.tls).toBe(true);
    expect(server.received[0]?.raw.toString()).toContain('with ESMTPS id');
  });

  test('is offered in clear text only', async () => {
    const server = await servers.start({ tls });
    const client = await server.open();
    await client.answer();
    expect(await client.say('EHLO client.example')).toContain('STARTTLS');
    await secure(client);
    expect(await client.say('EHLO client.example')).not.toContain('STARTTLS');
    expect(await client.say('STARTTLS')).toMatch(/^503 /);
  });

  test('forgets what was said in clear text', async () => {
    const server = await servers.start({ tls });
    const client = await server.greet();
    await client.say(FROM);
    await client.say(TO);
    await secure(client);
    expect(await client.say('DATA')).toMatch(/^503 /);
    expect(await client.say(FROM)).toMatch(/^503 5\.5\.1 Error: send HELO\/EHLO first/);
  });

  test.each([
    ['one command', 'NOOP\r\n'],
    ['a whole message', `EHLO evil.example\r\n${FROM}\r\n${TO}\r\nDATA\r\nevil\r\n.\r\n`],
    ['many commands', 'NOOP\r\n'.repeat(500)],
    ['half a command', 'RCPT TO:<evil'],
  ])('throws away what follows it in clear text: %s', async (_case, injected) => {
    const server = await servers.start({ tls });
    const client = await server.greet();
    client.write(`STARTTLS\r\n${injected}`);
    expect(await client.answer()).toMatch(/^220 /);
    await client.secure(authority.caPem, HOSTNAME);
    expect(await client.say('EHLO client.example')).toMatch(/^250-/);
    await beginMessage(client);
    expect(await client.say('mine\r\n.')).toMatch(/^250 /);
    expect(client.pending()).toBe(0);
    expect(server.received.map(({ message }) => message)).toEqual(['mine\r\n']);
    expect(server.received[0]?.envelope.helo).toBe('client.example');
  });

  test('that never comes to its handshake runs out of time', async () => {
    const server = await servers.start({ tls, limits: { commandTimeoutMs: 300 } });
    const client = await server.greet();
    await client.say('STARTTLS');
    // The head of a TLS record of 16 KB. Its bytes then arrive one at a time.
    client.write(Buffer.of(22, 3, 1, 0x3f, 0xff));
    const drip = setInterval(() => client.write(Buffer.of(1)), 20);
    await client.closed;
    clearInterval(drip);
    expect(server.refusals).toEqual(['421 command_timeout']);
  });

  test('that fails ends its session, and no other', async () => {
    const server = await servers.start({ tls });
    const client = await server.greet();
    await client.say('STARTTLS');
    client.write('this is no handshake\r\n'.repeat(20));
    await client.closed;
    const next = await server.greet();
    await secure(next);
    expect(await next.say('EHLO client.example')).toMatch(/^250-/);
  });
});

describe('a certificate', () => {
  test('that is replaced serves the next session; open sessions continue', async () => {
    const server = await servers.start({ tls });
    const before = await server.greet();
    await secure(before);
    expect(before.fingerprint()).toBe(fingerprint(tls));

    server.inbound.setTls(renewed);
    const after = await server.greet();
    await secure(after);
    expect(after.fingerprint()).toBe(fingerprint(renewed));
    expect(await before.say('EHLO client.example')).toMatch(/^250-/);
  });

  test('that is unusable is an error, and the previous one stays in use', async () => {
    const server = await servers.start({ tls });
    expect(() => server.inbound.setTls({ cert: 'nonsense', key: tls.key })).toThrow();
    expect(() => server.inbound.setTls({ cert: tls.cert, key: renewed.key })).toThrow();
    const client = await server.greet();
    await secure(client);
    expect(client.fingerprint()).toBe(fingerprint(tls));
  });

  test('may come later, and go', async () => {
    const server = await servers.start();
    server.inbound.setTls(tls);
    const client = await server.greet();
    await secure(client);
    server.inbound.setTls(null);
    expect(await (await server.greet()).say('STARTTLS')).toMatch(/^500 /);
  });
});
