import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { listen, waitFor } from '@postrider/testing';
import PostalMime from 'postal-mime';
import type { SMTPServerOptions } from 'smtp-server';
import { startMailServer } from '../test/mail-server.ts';
import { outgoingMessage } from '../test/outgoing-message.ts';
import { ACCEPTED, LONG_MS, useSmtp } from '../test/smtp-fixture.ts';
import { createMailProvider } from './create-mail-provider.ts';

const { provide, mailServer, rawServer, atEnd } = useSmtp();
const LONG = { replyTimeoutMs: LONG_MS, finalReplyTimeoutMs: LONG_MS };

const fault = (code: number, text: string) => Object.assign(new Error(text), { responseCode: code });
const NO_LOGIN = 'the mail server does not accept our login';

describe('a server that takes mail', () => {
  test('gets the message byte for byte: dots, unicode, and bcc only in the envelope', async () => {
    const server = await mailServer();
    const message = outgoingMessage({
      to: ['Jörg <j@example.net>'],
      bcc: ['secret@example.net'],
      subject: 'Grüße 🎉',
      text: '.\n..\n.leading dot\nend 🎉\n',
      html: '<p>.</p>\n.\n',
    });
    expect(await provide(server.url).send(message)).toEqual(ACCEPTED);

    expect(server.taken.map(({ envelope }) => envelope)).toEqual([
      { from: 'orders@mail.example.com', to: ['j@example.net', 'secret@example.net'] },
    ]);
    const [taken] = server.taken;
    if (taken === undefined) throw new Error('nothing was taken');
    const mail = await PostalMime.parse(taken.bytes);
    expect(mail.subject).toBe('Grüße 🎉');
    expect(mail.text?.trimEnd()).toBe('.\n..\n.leading dot\nend 🎉');
    expect(mail.html?.trimEnd()).toBe('<p>.</p>\n.');
    expect(mail.messageId).toBe('<em_01jd0000000000000000000001@mail.example.com>');
    // A boundary is random, and may have `bcc` in it.
    expect(taken.bytes.toString('latin1')).not.toMatch(/^bcc|secret/im);
  });

  test.each([
    ['Ok 0102018c3b4c7e2f-1234abcd-12ab-34cd-56ef-1234567890ab-000000', true],
    ['Ok: queued as 4F6A21C0', false],
    ['Ok 4F6A21C0', false],
  ])('gives the id of the message if it is SES: %s', async (words, isSes) => {
    const server = await mailServer({
      onData: (stream, _session, callback) => {
        stream.resume().on('end', () => callback(null, words));
      },
    });
    const providerMessageId = isSes ? words.slice('Ok '.length) : null;
    expect(await provide(server.url).send(outgoingMessage())).toEqual({ ...ACCEPTED, providerMessageId });
  });

  test('gets a domain in Unicode as ASCII', async () => {
    const server = await mailServer();
    const message = outgoingMessage({ to: ['Jörg <j@bücher.example>'] });
    expect(await provide(server.url).send(message)).toEqual(ACCEPTED);
    const [taken] = server.taken;
    expect(taken?.envelope.to).toEqual(['j@bücher.example']); // as smtp-server shows it
    expect(taken?.bytes.toString('latin1')).toMatch(/^To: .*<j@xn--bcher-kva\.example>\r$/m);
  });

  test('gets many messages over few connections, which are kept', async () => {
    const server = await mailServer();
    const provider = provide(server.url, LONG_MS, 2);
    const answers = await Promise.all(Array.from({ length: 20 }, () => provider.send(outgoingMessage())));
    expect(answers).toEqual(Array.from({ length: 20 }, () => ACCEPTED));
    expect(server.taken).toHaveLength(20);
    expect(server.connections()).toBe(2);
  });

  test('is told the login of the address', async () => {
    const server = await mailServer({
      authOptional: false,
      onAuth: ({ username, password }, _session, callback) => {
        if (username === 'user' && password === 'p@ss') callback(null, { user: 'user' });
        else callback(new Error('wrong'));
      },
    });
    const url = server.url.replace('smtp://', 'smtp://user:p%40ss@');
    expect(await provide(url).send(outgoingMessage())).toEqual(ACCEPTED);
  });

  test('is what createMailProvider connects to, with as many connections as it says', async () => {
    const connectionsMax = 20;
    const waiting: (() => void)[] = [];
    const server = await mailServer({ onMailFrom: (_address, _session, done) => void waiting.push(done) });
    const provider = await createMailProvider({
      provider: 'smtp',
      smtp: { url: server.url, ...LONG },
      sandboxDir: '/nowhere',
      timeoutMs: LONG_MS,
      connectionsMax,
    });
    atEnd(() => provider.close());
    const sent = Array.from({ length: connectionsMax }, () => provider.send(outgoingMessage()));
    await waitFor(() => waiting.length === connectionsMax, { what: 'a message on each connection' });
    for (const go of waiting) go();
    expect(await Promise.all(sent)).toEqual(sent.map(() => ACCEPTED));
  });
});

describe('a server on another machine that offers no TLS', () => {
  /** Not a loopback address, as which it is reached all the same: so it stands for another machine. */
  const elsewhere = (url: string) => url.replace('smtp://127.0.0.1', 'smtp://user:secret@0.0.0.0');
  const commands = (lines: readonly string[]) => lines.map((line) => line.split(' ', 1)[0]);
  const plain = async () =>
    rawServer('220 hello', (line) => {
      if (line === 'DATA') return '354 go on';
      if (line.startsWith('EHLO')) return '250-hello\r\n250 AUTH PLAIN LOGIN';
      if (line.startsWith('AUTH')) return '235 OK';
      if (line === 'STARTTLS') return '502 no such command';
      return /^(MAIL|RCPT|\.$)/.test(line) ? '250 OK' : null;
    });

  test.each(['', '?ignoreTLS=true', '?requireTLS=false&secure=false'])(
    'with %j in the URL: the mail is deferred, and neither login nor mail went there',
    async (query) => {
      const server = await plain();
      expect((await provide(`${elsewhere(server.url)}/${query}`).send(outgoingMessage())).kind).toBe(
        'deferred',
      );
      expect(commands(server.lines)).toEqual(['EHLO', 'STARTTLS']);
    },
  );

  test.each([
    ['smtp://', 'localhost.example.com', '', ['EHLO', 'STARTTLS']],
    ['smtp://', '127.0.0.1.example.com', '', ['EHLO', 'STARTTLS']],
    ['smtp://', 'localhost', '', ['EHLO', 'STARTTLS']],
    ['smtp://', '127.0.0.1', '', ['EHLO', 'STARTTLS']],
    ['smtps://', 'smtp.example.com', '&secured=true', []],
  ])('and that a proxy reaches as %s%s %s', async (scheme, name, more, heard) => {
    const server = await plain();
    // The proxy connects to the server whatever the name, as a name server could.
    const { hostname, port } = new URL(server.url);
    const proxy = createServer().on('connect', (_request, client: Socket) => {
      const upstream = connect(Number(port), hostname, () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
      upstream.on('error', () => client.destroy()).pipe(client);
      client.on('error', () => upstream.destroy()).pipe(upstream);
    });
    const listening = await listen(proxy);
    atEnd(() => listening.close());
    const url = `${scheme}user:secret@${name}:${port}/?proxy=http://127.0.0.1:${listening.port}${more}`;
    expect((await provide(url).send(outgoingMessage())).kind).toBe('deferred');
    expect(commands(server.lines)).toEqual(heard);
  });

  test('a real one gets nothing either', async () => {
    const logins: unknown[] = [];
    const server = await mailServer({
      onAuth: (auth, _session, done) => {
        logins.push(auth);
        done(null, { user: 'user' });
      },
    });
    expect((await provide(elsewhere(server.url)).send(outgoingMessage())).kind).toBe('deferred');
    expect([server.taken, logins]).toEqual([[], []]);
  });

  test('gets the mail where plain text is allowed', async () => {
    const server = await mailServer({ onAuth: (_auth, _session, done) => done(null, { user: 'user' }) });
    const provider = await createMailProvider({
      provider: 'smtp',
      smtp: { url: elsewhere(server.url), allowPlaintext: true, ...LONG },
      sandboxDir: '/nowhere',
      timeoutMs: LONG_MS,
      connectionsMax: 1,
    });
    atEnd(() => provider.close());
    expect(await provider.send(outgoingMessage())).toEqual(ACCEPTED);
  });

  test('gets it on loopback', async () => {
    const server = await plain();
    const url = server.url.replace('smtp://', 'smtp://user:secret@');
    expect((await provide(url).send(outgoingMessage())).kind).toBe('accepted');
  });
});

describe('a final no to the message is a refusal, in the words of the server', () => {
  test.each<[string, SMTPServerOptions, string]>([
    ['the sender', { onMailFrom: (_a, _s, done) => done(fault(550, '5.7.1 Not you')) }, '550 5.7.1 Not you'],
    [
      'every recipient',
      { onRcptTo: (_a, _s, done) => done(fault(550, '5.1.1 No such user')) },
      '550 5.1.1 No such user',
    ],
    [
      'the content',
      { onData: (stream, _s, done) => void stream.resume().on('end', () => done(fault(554, '5.6.0 Spam'))) },
      '554 5.6.0 Spam',
    ],
  ])('to %s', async (_what, options, error) => {
    const server = await mailServer(options);
    expect(await provide(server.url).send(outgoingMessage())).toMatchObject({ kind: 'refused', error });
  });

  test('to the size, which the server announced', async () => {
    const server = await mailServer({ size: 10 });
    const answer = await provide(server.url).send(outgoingMessage());
    expect(answer).toEqual({ kind: 'refused', error: 'Message size larger than allowed 10' });
  });

  test('and the connection serves the next message', async () => {
    const server = await mailServer({
      onRcptTo: ({ address }, _session, done) => done(address.startsWith('bad') ? fault(550, 'no') : null),
    });
    const provider = provide(server.url, LONG_MS, 1);
    expect((await provider.send(outgoingMessage({ to: ['bad@example.net'] }))).kind).toBe('refused');
    expect((await provider.send(outgoingMessage())).kind).toBe('accepted');
    expect(server.connections()).toBe(1);
  });
});

test('a message that cannot be composed is refused, and no server is asked', async () => {
  const server = await rawServer('220 hello', () => null);
  expect(await provide(server.url).send(outgoingMessage({ from: 'nobody' }))).toMatchObject({
    kind: 'refused',
    error: 'the message cannot be composed',
    notAsked: true,
  });
  expect(server.lines).toEqual([]);
});

describe('recipients of whom some are turned down', () => {
  const REPLIES: Record<string, [number, string]> = {
    bad: [550, '5.1.1 No such user'],
    busy: [452, '4.2.2 Over quota'],
    grey: [450, '4.7.1 Greylisted'],
    policy: [550, '5.7.1 Blocked using a list'],
  };
  const options: SMTPServerOptions = {
    onRcptTo: ({ address }, _session, done) => {
      const reply = REPLIES[address.split('@', 1)[0] ?? ''];
      done(reply === undefined ? null : fault(...reply));
    },
  };
  const report = (type: string, name: string, kind: string | null) => ({
    type,
    recipients: [`${name}@example.net`],
    detail: {
      bounce_type: kind,
      bounce_sub_type: kind === null ? null : 'General',
      diagnostic: `smtp; ${REPLIES[name]?.join(' ') ?? ''}`,
    },
  });

  test('are reported, and the message is accepted for the others; 4xx is due again', async () => {
    const server = await mailServer(options);
    const to = ['good@example.net', 'bad@example.net', 'Busy <busy@Example.net>', 'policy@example.net'];
    expect(await provide(server.url).send(outgoingMessage({ to }))).toMatchObject({
      kind: 'accepted',
      notifications: [
        report('email.bounced', 'bad', 'Permanent'),
        { ...report('email.delivery_delayed', 'busy', null), recipients: ['busy@Example.net'] },
        report('email.soft_bounced', 'policy', 'Transient'),
      ],
      deferred: ['busy@Example.net'],
    });
    expect(server.taken[0]?.envelope.to).toEqual(['good@example.net']);
  });

  test.each([
    ['a..b@docomo.ne.jp', '"a..b"@docomo.ne.jp'],
    ['Ann@Example.net', 'Ann@example.net'],
    ['" ann"@example.net', '" ann"@example.net'],
    [String.raw`"ann\,bob"@example.net`, String.raw`"ann\,bob"@example.net`],
    ['jürgen@xn--bcher-kva.example', 'jürgen@bücher.example'],
  ])('%s is reported as we write it, though the server gets %s', async (address, asked) => {
    const server = await rawServer('220 hello', (line) => {
      if (line === 'DATA') return '354 go on';
      if (line.startsWith('EHLO')) return '250-hello\r\n250 SMTPUTF8';
      if (line === `RCPT TO:<${Buffer.from(asked).toString('latin1')}>`) return '451 4.7.1 Later';
      return /^(MAIL|RCPT|\.$)/.test(line) ? '250 OK' : null;
    });
    const message = outgoingMessage({ to: ['good@example.net', address] });
    expect(await provide(server.url).send(message)).toMatchObject({
      kind: 'accepted',
      notifications: [{ type: 'email.delivery_delayed', recipients: [address] }],
      deferred: [address],
    });
  });

  test('the rest of a message gets the bytes that the others got', async () => {
    const server = await mailServer();
    const message = outgoingMessage({ to: ['a@example.net', 'b@example.net'], bcc: ['c@example.net'] });
    await provide(server.url).send(message);
    await provide(server.url).send({ ...message, only: ['b@example.net', 'c@example.net'] });
    const [whole, rest] = server.taken;
    expect(rest?.envelope.to).toEqual(['b@example.net', 'c@example.net']);
    const isBoundary = /--_NmP-[^\r"]*/g;
    const bytes = [whole, rest].map((taken) => taken?.bytes.toString('latin1').replaceAll(isBoundary, ''));
    expect(bytes[1]).toBe(bytes[0]);
  });

  test('all turned down, one of them not for good: deferred, with a report of the other', async () => {
    const server = await mailServer(options);
    const answer = await provide(server.url).send(
      outgoingMessage({ to: ['grey@example.net', 'bad@example.net'] }),
    );
    expect(answer).toMatchObject({
      kind: 'deferred',
      error: '450 4.7.1 Greylisted',
      notifications: [report('email.bounced', 'bad', 'Permanent')],
    });
  });

  test('all turned down for good: refused, and each is reported', async () => {
    const server = await mailServer(options);
    const answer = await provide(server.url).send(
      outgoingMessage({ to: ['policy@example.net', 'bad@example.net'] }),
    );
    expect(answer).toMatchObject({
      kind: 'refused',
      notifications: [
        report('email.soft_bounced', 'policy', 'Transient'),
        report('email.bounced', 'bad', 'Permanent'),
      ],
    });
  });
});

describe('what may be different next time is deferred', () => {
  test.each<[string, SMTPServerOptions, string]>([
    ['4xx to the sender', { onMailFrom: (_a, _s, done) => done(fault(451, 'later')) }, '451 later'],
    [
      '4xx to the recipient',
      { onRcptTo: (_a, _s, done) => done(fault(450, 'greylisted')) },
      '450 greylisted',
    ],
    [
      '4xx to the content',
      { onData: (stream, _s, done) => void stream.resume().on('end', () => done(fault(452, 'full'))) },
      '452 full',
    ],
  ])('%s', async (_what, options, error) => {
    const server = await mailServer(options);
    expect(await provide(server.url).send(outgoingMessage())).toEqual({ kind: 'deferred', error });
  });

  test('a login that the server does not know', async () => {
    const server = await mailServer({
      authOptional: false,
      onAuth: (_auth, _session, done) => done(fault(535, 'no')),
    });
    const url = server.url.replace('smtp://', 'smtp://user:wrong@');
    const answer = await provide(url).send(outgoingMessage());
    expect(answer).toEqual({ kind: 'deferred', error: NO_LOGIN, code: '535' });
  });

  test('a server that wants a login we do not have', async () => {
    const server = await mailServer({ authOptional: false });
    const answer = await provide(server.url).send(outgoingMessage());
    expect(answer).toEqual({ kind: 'deferred', error: NO_LOGIN, code: '530' });
  });

  test('a server that is away', async () => {
    const server = await startMailServer();
    await server.close();
    const answer = await provide(server.url).send(outgoingMessage());
    const error = 'no answer from the mail server';
    expect(answer).toEqual({ kind: 'deferred', error, code: 'ECONNREFUSED' });
  });

  test('a greeting that turns us away, with 5xx too: it is not about the message', async () => {
    const server = await rawServer('554 No SMTP service here', () => null);
    const answer = await provide(server.url).send(outgoingMessage());
    expect(answer).toEqual({ kind: 'deferred', error: '554 No SMTP service here' });
  });

  test('a server that hangs up in the middle', async () => {
    const server = await rawServer('220 hello', (line, socket) => {
      if (line.startsWith('MAIL')) socket.destroy();
      return '250 OK';
    });
    expect((await provide(server.url).send(outgoingMessage())).kind).toBe('deferred');
  });
});

test('close breaks off what is running; what comes after is deferred', async () => {
  const { promise: hanging, resolve: greeted } = Promise.withResolvers<void>();
  const server = await rawServer('220 hello', () => {
    greeted();
    return null;
  });
  const provider = provide(server.url);
  const running = provider.send(outgoingMessage());
  await hanging;
  provider.close();
  expect((await running).kind).toBe('deferred');
  expect((await provider.send(outgoingMessage())).kind).toBe('deferred');
});
