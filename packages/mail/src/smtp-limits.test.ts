import type { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import type { ProviderResult } from '@postrider/domain';
import { outgoingMessage } from '../test/outgoing-message.ts';
import { ACCEPTED, LONG_MS, useSmtp } from '../test/smtp-fixture.ts';

const SHORT_MS = 300;

const { provide, mailServer, rawServer, atEnd } = useSmtp();

describe('each step has its own time limit', () => {
  const accepts = (line: string) => {
    if (line === 'DATA') return '354 go on';
    return /^(EHLO|MAIL|RCPT|RSET|\.$)/.test(line) ? '250 OK' : null;
  };
  /** Replies to the lines that `slowly` matches when the pause is over. */
  const answersLate = async (slowly: RegExp, pauseMs: number, reply = accepts) =>
    rawServer('220 hello', (line, socket) => {
      const text = reply(line);
      if (text === null || !slowly.test(line)) return text;
      setTimeout(() => socket.write(`${text}\r\n`), pauseMs);
      return null;
    });
  const silence = (answer: ProviderResult) =>
    expect(answer).toEqual({
      kind: 'deferred',
      error: `no answer from the mail server within ${SHORT_MS} ms`,
    });

  test('a server that is slow at the final dot gets the message once', async () => {
    const server = await answersLate(/^\.$/, 2 * SHORT_MS);
    expect(await provide(server.url, SHORT_MS).send(outgoingMessage())).toEqual(ACCEPTED);
    expect(server.lines.filter((line) => line === '.')).toHaveLength(1);
  });

  test('a server may pause at every recipient', async () => {
    const [limitMs, pauseMs] = [2_000, 100];
    const server = await answersLate(/^RCPT/, pauseMs);
    const to = Array.from({ length: 30 }, (_, n) => `r${n}@example.net`);
    expect(await provide(server.url, limitMs).send(outgoingMessage({ to }))).toEqual(ACCEPTED);
  });

  test('a slow line may take longer for the whole message than for a block', async () => {
    const limitMs = 2000;
    const server = await mailServer({
      onData: (stream, _session, done) => {
        stream.on('end', () => done());
        stream.on('data', () => {
          stream.pause();
          setTimeout(() => stream.resume(), 16);
        });
      },
    });
    const attachments = [
      { filename: 'f', content: Buffer.alloc(12_000_000), contentType: null, contentId: null },
    ];
    expect(await provide(server.url, limitMs).send(outgoingMessage({ attachments }))).toEqual(ACCEPTED);
  });

  test('a server that never greets', async () => {
    const server = await rawServer(null, () => null);
    silence(await provide(server.url, SHORT_MS).send(outgoingMessage()));
  });

  test.each(['EHLO', 'MAIL', 'RCPT', 'DATA'])('a server that is silent after %s', async (command) => {
    const server = await rawServer('220 hello', (line) => (line.startsWith(command) ? null : accepts(line)));
    silence(await provide(server.url, SHORT_MS).send(outgoingMessage()));
  });

  test('a server that sends a line of its reply now and then, and never the last', async () => {
    const timers: NodeJS.Timeout[] = [];
    atEnd(async () => timers.forEach(clearInterval));
    const server = await rawServer('220 hello', (line, socket) => {
      if (line.startsWith('EHLO')) timers.push(setInterval(() => socket.write('250-STILL\r\n'), 20));
      return null;
    });
    silence(await provide(server.url, SHORT_MS).send(outgoingMessage()));
  });

  test('a server that asks for more at every step of the login', async () => {
    const server = await rawServer('220 hello', (line) =>
      line.startsWith('EHLO') ? '250-hello\r\n250 AUTH PLAIN' : '334 ',
    );
    const url = server.url.replace('smtp://', 'smtp://user:secret@');
    expect((await provide(url, SHORT_MS).send(outgoingMessage())).kind).toBe('deferred');
  });

  test('a message that waits for a free connection uses up no time', async () => {
    const server = await answersLate(/^\.$/, 2 * SHORT_MS);
    const provider = provide(server.url, SHORT_MS, 1);
    const answers = await Promise.all([provider.send(outgoingMessage()), provider.send(outgoingMessage())]);
    expect(answers).toEqual([ACCEPTED, ACCEPTED]);
  });

  test('and the provider goes on when the server does', async () => {
    let hanging = true;
    const server = await rawServer('220 hello', (line) => (hanging ? null : accepts(line)));
    const provider = provide(server.url, SHORT_MS, 1);
    expect((await provider.send(outgoingMessage())).kind).toBe('deferred');
    hanging = false;
    expect((await provider.send(outgoingMessage())).kind).toBe('accepted');
  });

  // Nodemailer would wait for the reply for ever, and open no other connection.
  test('connections that fall silent between two messages cost one attempt together', async () => {
    let refuses = true;
    const silent = new Set<Socket>();
    const server = await rawServer('220 hello', (line, socket) => {
      if (line === 'RSET') silent.add(socket);
      if (silent.has(socket)) return null;
      return refuses && line.startsWith('RCPT') ? '550 no' : accepts(line);
    });
    const provider = provide(server.url, SHORT_MS, 2);
    const refused = await Promise.all([provider.send(outgoingMessage()), provider.send(outgoingMessage())]);
    expect(refused.map(({ kind }) => kind)).toEqual(['refused', 'refused']);
    refuses = false;
    silence(await provider.send(outgoingMessage()));
    expect(await provider.send(outgoingMessage())).toEqual(ACCEPTED);
  });
});

describe('without an answer to the final dot, the server may have the message: unconfirmed', () => {
  const untilTheDot = (atTheDot: (socket: Socket) => string | null) =>
    rawServer('220 hello', (line, socket) => {
      if (line === 'DATA') return '354 go on';
      if (line === '.') return atTheDot(socket);
      return /^(EHLO|MAIL|RCPT)/.test(line) ? '250 OK' : null;
    });

  test('when the server stays silent for the time limit', async () => {
    const server = await untilTheDot(() => null);
    expect(await provide(server.url, LONG_MS, 1, SHORT_MS).send(outgoingMessage())).toEqual({
      kind: 'unconfirmed',
      error: `no answer from the mail server within ${SHORT_MS} ms after the message`,
    });
    expect(server.lines).toContain('.');
  });

  test.each<[string, (socket: Socket) => string | null]>([
    ['closes the connection', (socket) => (socket.destroy(), null)],
    ['answers what is no reply', () => 'what?'],
  ])('when the server %s', async (_what, atTheDot) => {
    const server = await untilTheDot(atTheDot);
    expect(await provide(server.url, LONG_MS, 1).send(outgoingMessage())).toEqual({
      kind: 'unconfirmed',
      error: 'the mail server closed the connection after the message',
    });
  });

  test('when we stop', async () => {
    const { promise: atTheDot, resolve: reached } = Promise.withResolvers<void>();
    const server = await untilTheDot(() => (reached(), null));
    const provider = provide(server.url, LONG_MS, 1);
    const running = provider.send(outgoingMessage());
    await atTheDot;
    provider.close();
    expect(await running).toEqual({
      kind: 'unconfirmed',
      error: 'this process closed the connection to the mail server after the message',
    });
  });

  test.each([
    ['421 closing', 'deferred'],
    ['451 later', 'deferred'],
    ['554 no', 'refused'],
  ])('but %s is an answer: %s', async (reply, kind) => {
    const server = await untilTheDot(() => reply);
    expect(await provide(server.url, LONG_MS, 1).send(outgoingMessage())).toMatchObject({
      kind,
      error: reply,
    });
  });
});
