import { X509Certificate } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestAuthority, type SmtpClient, type TestAuthority } from '@postrider/testing';
import { createTransport } from 'nodemailer';
import { beginMessage, FROM, HOSTNAME, inboundGrounds, TO } from '../../test/inbound-ground.ts';
import type { InboundTls } from './inbound-server.ts';

const grounds = inboundGrounds();
afterEach(() => grounds.close());

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
    const ground = await grounds.start({ tls });
    const transport = createTransport({
      host: '127.0.0.1',
      port: ground.port,
      requireTLS: true,
      tls: { ca: authority.caPem, servername: HOSTNAME },
    });
    await transport.sendMail({ from: 's@client.example', to: 'a@inbox.example', text: 'x' });
    transport.close();
    expect(ground.received[0]?.envelope.tls).toBe(true);
    expect(ground.received[0]?.raw.toString()).toContain('with ESMTPS id');
  });

  test('is offered in clear text only', async () => {
    const ground = await grounds.start({ tls });
    const client = await ground.open();
    await client.answer();
    expect(await client.say('EHLO client.example')).toContain('STARTTLS');
    await secure(client);
    expect(await client.say('EHLO client.example')).not.toContain('STARTTLS');
    expect(await client.say('STARTTLS')).toMatch(/^503 /);
  });

  test('forgets what was said in clear text', async () => {
    const ground = await grounds.start({ tls });
    const client = await ground.greet();
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
    const ground = await grounds.start({ tls });
    const client = await ground.greet();
    client.write(`STARTTLS\r\n${injected}`);
    expect(await client.answer()).toMatch(/^220 /);
    await client.secure(authority.caPem, HOSTNAME);
    expect(await client.say('EHLO client.example')).toMatch(/^250-/);
    await beginMessage(client);
    expect(await client.say('mine\r\n.')).toMatch(/^250 /);
    expect(client.pending()).toBe(0);
    expect(ground.received.map(({ message }) => message)).toEqual(['mine\r\n']);
    expect(ground.received[0]?.envelope.helo).toBe('client.example');
  });

  test('that never comes to its handshake runs out of time', async () => {
    const ground = await grounds.start({ tls, limits: { commandTimeoutMs: 300 } });
    const client = await ground.greet();
    await client.say('STARTTLS');
    // The head of a TLS record of 16 KB, whose bytes then come one by one.
    client.write(Buffer.of(22, 3, 1, 0x3f, 0xff));
    const drip = setInterval(() => client.write(Buffer.of(1)), 20);
    await client.closed;
    clearInterval(drip);
    expect(ground.refusals).toEqual(['421 command_timeout']);
  });

  test('that fails ends its session, and no other', async () => {
    const ground = await grounds.start({ tls });
    const client = await ground.greet();
    await client.say('STARTTLS');
    client.write('this is no handshake\r\n'.repeat(20));
    await client.closed;
    const next = await ground.greet();
    await secure(next);
    expect(await next.say('EHLO client.example')).toMatch(/^250-/);
  });
});

describe('a certificate', () => {
  test('that is read again is the one of the next session; those that are open go on', async () => {
    const ground = await grounds.start({ tls });
    const before = await ground.greet();
    await secure(before);
    expect(before.fingerprint()).toBe(fingerprint(tls));

    ground.server.setTls(renewed);
    const after = await ground.greet();
    await secure(after);
    expect(after.fingerprint()).toBe(fingerprint(renewed));
    expect(await before.say('EHLO client.example')).toMatch(/^250-/);
  });

  test('that is unusable is an error, and the old one stays', async () => {
    const ground = await grounds.start({ tls });
    expect(() => ground.server.setTls({ cert: 'nonsense', key: tls.key })).toThrow();
    expect(() => ground.server.setTls({ cert: tls.cert, key: renewed.key })).toThrow();
    const client = await ground.greet();
    await secure(client);
    expect(client.fingerprint()).toBe(fingerprint(tls));
  });

  test('may come later, and go', async () => {
    const ground = await grounds.start();
    ground.server.setTls(tls);
    const client = await ground.greet();
    await secure(client);
    ground.server.setTls(null);
    expect(await (await ground.greet()).say('STARTTLS')).toMatch(/^500 /);
  });
});
