import { describe, expect, test } from '@jest/globals';
import { ByteBudget } from '@postrider/limits';
import { testWithIpv6, testWithLoopbackNetwork, waitFor } from '@postrider/testing';
import type { SmtpClient } from '@postrider/testing';
import { beginMessage, FROM, HOSTNAME, STORED, testServers, TO } from '../../test/test-server.ts';
import type { TestServer } from '../../test/test-server.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import type { PipelineOutcome } from '../pipeline/mail-pipeline.ts';

const servers = testServers();

const TOO_MANY = `421 ${HOSTNAME} Too many sessions, try again later`;

/** Size of a block of the message buffer. */
const BLOCK = 64 * 1024;

describe('sessions', () => {
  /** Opens a session in the middle of a message: it does not wait for a command. */
  async function sending(server: TestServer, from?: string): Promise<SmtpClient> {
    const client = await server.open('127.0.0.1', from);
    await client.answer();
    await client.say('EHLO client.example');
    await beginMessage(client);
    return client;
  }

  testWithLoopbackNetwork('over the limit get 421, and pass when another session ends', async () => {
    const server = await servers.start({ limits: { sessionsMax: 2 } });
    const first = await sending(server);
    await sending(server, '127.0.0.2');
    const third = await server.open('127.0.0.1', '127.0.0.3');
    expect(await third.rest()).toEqual([TOO_MANY]);
    expect(server.refusals).toEqual(['421 sessions']);
    first.destroy();
    await waitFor(() => server.sessions.at(-1) === 1, { what: 'the end of the first session' });
    expect(await (await server.open()).answer()).toMatch(/^220 /);
    expect(server.sessions).toEqual([1, 2, 1, 2]);
  });

  test('that were rejected do not count', async () => {
    const server = await servers.start({ limits: { sessionsMax: 1 } });
    const first = await sending(server);
    for (let count = 0; count < 5; count += 1) expect(await (await server.open()).rest()).toEqual([TOO_MANY]);
    first.destroy();
    await waitFor(() => server.sessions.at(-1) === 0, { what: 'the end of the session' });
    expect(await (await server.open()).answer()).toMatch(/^220 /);
    expect(server.sessions).toEqual([1, 0, 1]);
  });

  testWithLoopbackNetwork(
    'that wait longest for a command end for new ones, so idle sessions stop no mail',
    async () => {
      const server = await servers.start({ limits: { sessionsMax: 4 } });
      const idle: SmtpClient[] = [];
      for (const from of ['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.4'])
        idle.push(await server.open('127.0.0.1', from));
      for (const client of idle) expect(await client.answer()).toMatch(/^220 /);
      await idle[0]?.say('EHLO client.example');
      const client = await sending(server);
      expect(await idle[1]?.rest()).toEqual(['421 4.4.2 Too many sessions, try again later']);
      expect(await client.say('.')).toMatch(/^250 /);
      expect(server.refusals).toEqual(['421 sessions']);
      expect(await idle[0]?.say('NOOP')).toMatch(/^250 /);
      await waitFor(() => server.sessions.at(-1) === 4, { what: 'the end of the idle session' });
    },
  );

  test('of one address that find too few free get 421, and pass when another one ends', async () => {
    const server = await servers.start({ limits: { sessionsMax: 4, sessionsPerClientMin: 1 } });
    const first = await server.greet();
    await server.greet();
    const third = await server.open();
    expect(await third.rest()).toEqual([TOO_MANY]);
    expect(server.refusals).toEqual(['421 sessions_per_address']);
    await first.say('QUIT');
    await waitFor(() => server.sessions.at(-1) === 1, { what: 'the end of the first session' });
    expect(await (await server.open()).answer()).toMatch(/^220 /);
  });

  testWithIpv6('of another address have room when one is at its limit', async () => {
    const server = await servers.start({ host: '::', limits: { sessionsMax: 2, sessionsPerClientMin: 1 } });
    await server.greet();
    expect(await (await server.open()).rest()).toEqual([TOO_MANY]);
    expect(await (await server.open('::1')).answer()).toMatch(/^220 /);
  });

  test('over LMTP, where one host sends everything, are not limited by address', async () => {
    const server = await servers.start({ protocol: 'lmtp', limits: { sessionsMax: 4 } });
    const clients = await Promise.all(Array.from({ length: 4 }, () => server.open()));
    for (const client of clients) expect(await client.answer()).toMatch(/^220 /);
  });

  test('that are cut before the greeting leave nothing behind', async () => {
    const server = await servers.start({ limits: { sessionsMax: 1 } });
    for (let count = 0; count < 3; count += 1) (await server.open()).destroy();
    await waitFor(
      async () => {
        const client = await server.open();
        if ((await client.answer()).startsWith('220')) return true;
        return client.closed.then(() => false);
      },
      { what: 'room for a session' },
    );
  });

  test('that talk before the greeting are cut', async () => {
    const server = await servers.start();
    const client = await server.open();
    client.write('EHLO client.example\r\n');
    expect((await client.rest()).map((answer) => answer.slice(0, 3))).toEqual(['421']);
  });
});

describe('messages in one session', () => {
  test('over the limit get 421', async () => {
    const server = await servers.start({ limits: { messagesPerSessionMax: 2 } });
    const client = await server.greet();
    for (let count = 0; count < 2; count += 1) {
      await beginMessage(client);
      expect(await client.say('.')).toMatch(/^250 /);
    }
    client.write(`${FROM}\r\n`);
    expect(await client.rest()).toEqual(['421 4.4.2 Too many messages in one session']);
    expect(server.refusals).toEqual(['421 messages_per_session']);
  });

  test('count also when they are given up', async () => {
    const server = await servers.start({ limits: { messagesPerSessionMax: 2 } });
    const client = await server.greet();
    for (let count = 0; count < 2; count += 1) {
      await client.say(FROM);
      await client.say('RSET');
    }
    expect(await client.say(FROM)).toMatch(/^421 /);
  });
});

describe('recipients', () => {
  test('over 50 get 452, and the message goes to the 50', async () => {
    const server = await servers.start();
    const client = await server.greet();
    const all = Array.from({ length: 120 }, (_, index) => `r${index}@inbox.example`);
    const commands = [FROM, ...all.map((recipient) => `RCPT TO:<${recipient}>`), 'DATA'];
    client.write(commands.map((command) => `${command}\r\n`).join(''));
    const answers = [];
    while (answers.length < commands.length) answers.push(await client.answer());
    expect(answers.slice(1, 51)).toEqual(all.slice(0, 50).map(() => '250 2.1.5 Accepted'));
    expect(answers.slice(51, -1)).toEqual(all.slice(50).map(() => '452 4.5.3 Error: too many recipients'));
    expect(await client.say('.')).toMatch(/^250 /);
    expect(server.received[0]?.envelope.recipients).toEqual(all.slice(0, 50));
    expect(server.asked).toHaveLength(50);
    expect(new Set(server.refusals)).toEqual(new Set(['452 recipients']));
  });
});

describe('the size of a message', () => {
  const limits = { messageBytesMax: 3 * BLOCK };
  const filler = (bytes: number) => `${'x'.repeat(bytes - 2)}\r\n`;

  async function send(server: TestServer, bytes: number): Promise<string> {
    const client = await server.greet();
    await beginMessage(client);
    client.write(filler(bytes));
    return client.say('.');
  }

  test('is announced, and refused where it is declared', async () => {
    const server = await servers.start();
    const client = await server.greet();
    expect(await client.say(`${FROM} SIZE=10485761`)).toBe(
      '552 5.3.4 Error: message exceeds fixed maximum message size 10485760',
    );
    expect(await client.say(`${FROM} SIZE=10485760`)).toMatch(/^250 /);
    expect(server.refusals).toEqual(['552 size']);
  });

  test('is counted where it is not declared: the limit passes, one byte more does not', async () => {
    const server = await servers.start({ limits });
    expect(await send(server, limits.messageBytesMax)).toMatch(/^250 /);
    expect(server.received[0]?.message).toBe(filler(limits.messageBytesMax));
    expect(await send(server, limits.messageBytesMax + 1)).toBe(
      `552 5.3.4 Message exceeds the maximum of ${limits.messageBytesMax} bytes`,
    );
    expect(server.received).toHaveLength(1);
    expect(server.refusals).toEqual(['552 size']);
  });

  test('does not count the dots that the client added', async () => {
    const server = await servers.start({ limits: { messageBytesMax: 6 } });
    const client = await server.greet();
    await beginMessage(client);
    expect(await client.say('....\r\n..\r\n.')).toMatch(/^552 /);
    await beginMessage(client);
    expect(await client.say('..\r\n..\r\n.')).toMatch(/^250 /);
    expect(server.received[0]?.message).toBe('.\r\n.\r\n');
  });

  test('beyond the limit is read but not kept, and the session continues', async () => {
    const server = await servers.start({
      limits: { messageBytesMax: 2 * BLOCK, bytesInFlightMax: 8 * BLOCK, smallMessageBytes: BLOCK },
    });
    const client = await server.greet();
    await beginMessage(client);
    client.write(filler(3 * BLOCK));
    await client.flushed();
    // With our own header, 2 blocks of content need 3 blocks. The longer message with 4 blocks would leave
    // too few.
    await waitFor(async () => (await send(server, 2 * BLOCK)).startsWith('250'), {
      what: 'room for another',
    });
    for (let count = 0; count < 100; count += 1) client.write(filler(BLOCK));
    expect(await client.say('.')).toMatch(/^552 /);
    await beginMessage(client);
    expect(await client.say('.')).toMatch(/^250 /);
  });
});

describe('the bytes of all messages in flight', () => {
  test('are limited: a further message gets 451, and passes later', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<PipelineOutcome>();
    const server = await servers.start({
      limits: { bytesInFlightMax: 4 * BLOCK, smallMessageBytes: BLOCK },
      receive: () => opened,
    });
    const [first, second] = [await server.greet(), await server.greet()];
    await beginMessage(first);
    first.write(`${'x'.repeat(BLOCK)}\r\n.\r\n`);
    await waitFor(() => server.received.length === 1, { what: 'the first message' });

    await beginMessage(second);
    expect(await second.say('small\r\n.')).toBe('451 4.3.0 Too much mail at a time, try again later');
    expect(await second.say(`${FROM} SIZE=1000`)).toBe('451 4.3.0 Too much mail at a time, try again later');
    expect(server.refusals).toEqual(['451 memory', '451 memory']);

    open(STORED);
    expect(await first.answer()).toMatch(/^250 /);
    await beginMessage(second);
    expect(await second.say('small\r\n.')).toMatch(/^250 /);
  });

  test('are released by an aborted message, and by one that is too long', async () => {
    const server = await servers.start({
      limits: { messageBytesMax: BLOCK, bytesInFlightMax: 4 * BLOCK, smallMessageBytes: BLOCK },
    });
    for (let count = 0; count < 3; count += 1) {
      const broken = await server.greet();
      await beginMessage(broken);
      broken.write('x'.repeat(BLOCK / 2));
      await broken.flushed();
      broken.destroy();
    }
    await waitFor(() => server.sessions.at(-1) === 0, { what: 'the end of the broken sessions' });
    const client = await server.greet();
    for (let count = 0; count < 3; count += 1) {
      await beginMessage(client);
      client.write('x'.repeat(2 * BLOCK));
      expect(await client.say('\r\n.')).toMatch(/^552 /);
    }
    await beginMessage(client);
    client.write('x'.repeat(BLOCK - 2));
    expect(await client.say('\r\n.')).toMatch(/^250 /);
  });
});

describe('one client that holds many messages open', () => {
  const limits = { messageBytesMax: 8 * BLOCK, bytesInFlightMax: 64 * BLOCK, smallMessageBytes: BLOCK };
  const large = `${'x'.repeat(6 * BLOCK)}\r\n.`;

  async function hold(server: TestServer, sessions: number): Promise<SmtpClient[]> {
    const clients = await Promise.all(Array.from({ length: sessions }, () => server.greet()));
    for (const client of clients) {
      await beginMessage(client);
      client.write('x'.repeat(7 * BLOCK));
      await client.flushed();
    }
    return clients;
  }

  testWithIpv6('leaves space for the large message of another client', async () => {
    const server = await servers.start({ host: '::', limits });
    const holders = await hold(server, 16);
    const other = await server.open('::1');
    await other.answer();
    await other.say('EHLO other.example');
    expect(await other.say(`${FROM} SIZE=${7 * BLOCK}`)).toMatch(/^250 /);
    await other.say(TO);
    await other.say('DATA');
    expect(await other.say(large)).toMatch(/^250 /);
    const answers = await Promise.all(holders.map((holder) => holder.say('\r\n.')));
    expect(answers.map((answer) => answer.slice(0, 3))).toContain('451');
  });

  test('can still send small messages, and over LMTP large ones', async () => {
    const server = await servers.start({ limits });
    await hold(server, 16);
    const client = await server.greet();
    await beginMessage(client);
    expect(await client.say('small\r\n.')).toMatch(/^250 /);
    const lmtp = await servers.start({ protocol: 'lmtp', limits });
    await hold(lmtp, 5);
    const next = await lmtp.greet();
    await beginMessage(next);
    expect(await next.say(large)).toMatch(/^250 /);
  });

  test('cannot fill the reserved quarter: every session of an address may send a small message', () => {
    const { sessionsMax, smallMessageBytes, bytesInFlightMax } = DEFAULT_LIMITS;
    expect(sessionsMax * smallMessageBytes).toBeLessThanOrEqual(bytesInFlightMax / 4);
    const budget = new ByteBudget({ bytesMax: bytesInFlightMax, smallBytes: smallMessageBytes });
    for (let n = 0; n < sessionsMax / 2; n += 1) expect(budget.open('a').take(smallMessageBytes)).toBe(true);
  });
});

describe('commands', () => {
  test('that are too long end the session, whole or not', async () => {
    const server = await servers.start({ limits: { commandLineBytesMax: 100 } });
    const ended = '421 4.4.2 Line too long or not readable, closing connection';
    const whole = await server.greet();
    whole.write(`NOOP ${'x'.repeat(100)}\r\nNOOP\r\n`);
    expect(await whole.rest()).toEqual([ended]);
    const endless = await server.greet();
    endless.write('x'.repeat(101));
    expect(await endless.rest()).toEqual([ended]);
    expect(server.log()).toContain('Command line too long'); // the parser's words
    expect(await (await server.greet()).say(`NOOP ${'x'.repeat(95)}`)).toMatch(/^250 /);
  });

  test('that are unknown end the session', async () => {
    const server = await servers.start();
    const client = await server.greet();
    client.write('NONSENSE\r\n'.repeat(30));
    const answers = await client.rest();
    expect(answers).toHaveLength(10);
    expect(answers.at(-1)).toBe('421 4.4.2 Error: too many unrecognized commands');
  });

  test('that are refused end the session: recipients cannot be tried out for ever', async () => {
    const server = await servers.start({ limits: { errorsPerSessionMax: 5 } });
    const client = await server.greet();
    await client.say(FROM);
    client.write('RCPT TO:<nobody@example.org>\r\nRCPT TO:<@>\r\n'.repeat(20));
    const codes = (await client.rest()).map((answer) => answer.slice(0, 3));
    expect(codes).toEqual(['550', '501', '550', '501', '550', '421']);
    expect(server.asked).toHaveLength(3);
    expect(server.refusals.at(-1)).toBe('421 too_many_errors');
  });

  test('without a message end the session, valid or not', async () => {
    const server = await servers.start({ limits: { commandsPerMessageMax: 10 } });
    const client = await server.greet();
    client.write('NOOP\r\n'.repeat(100));
    const answers = await client.rest();
    expect(answers).toHaveLength(9);
    expect(answers.at(-1)).toBe('421 4.4.2 Too many commands without a message');
  });

  test('count anew with each message', async () => {
    const server = await servers.start({ limits: { commandsPerMessageMax: 8 } });
    const client = await server.greet();
    for (let count = 0; count < 5; count += 1) {
      await beginMessage(client);
      expect(await client.say('.')).toMatch(/^250 /);
    }
  });
});

/** LONG is far longer than any exchange here. SHORT is for limits that must run out. */
const LONG_MS = 20_000;
const SHORT_MS = 300;

describe('time', () => {
  test('runs out for a client that says nothing', async () => {
    const server = await servers.start({ limits: { commandTimeoutMs: SHORT_MS, dataTimeoutMs: LONG_MS } });
    const client = await server.open();
    expect((await client.rest()).slice(1)).toEqual(['421 4.4.2 Timeout, closing connection']);
    expect(server.refusals).toEqual(['421 command_timeout']);
  });

  test('runs out for a client that drips a command', async () => {
    const server = await servers.start({ limits: { commandTimeoutMs: SHORT_MS, dataTimeoutMs: LONG_MS } });
    const client = await server.open();
    const drip = setInterval(() => client.write('x'), 20);
    const answers = await client.rest();
    clearInterval(drip);
    expect(answers.slice(1)).toEqual(['421 4.4.2 Timeout, closing connection']);
  });

  test('runs out for a client that drips a message, and nothing of it is received', async () => {
    const server = await servers.start({ limits: { dataTimeoutMs: SHORT_MS, commandTimeoutMs: LONG_MS } });
    const client = await server.greet();
    await beginMessage(client);
    const drip = setInterval(() => client.write('x\r\n'), 20);
    const answers = await client.rest();
    clearInterval(drip);
    expect(answers).toEqual(['421 4.4.2 Timeout in the message, closing connection']);
    expect(server.refusals).toEqual(['421 data_timeout']);
    expect(server.received).toEqual([]);
  });

  test('runs out for a message that arrives too slowly, not for a faster one', async () => {
    const server = await servers.start({
      limits: { dataPeriodMs: 1_500, dataPeriodBytesMin: 5_000, dataTimeoutMs: LONG_MS },
    });
    const [fast, slow] = [await server.greet(), await server.greet()];
    await beginMessage(fast);
    const flow = setInterval(() => fast.write(`${'x'.repeat(20_000)}\r\n`), 20);
    await beginMessage(slow);
    const drip = setInterval(() => slow.write('x\r\n'), 20);
    const answers = await slow.rest();
    clearInterval(drip);
    expect(answers).toEqual(['421 4.4.2 The message arrives too slowly, closing connection']);
    expect(server.refusals).toEqual(['421 data_too_slow']);
    clearInterval(flow);
    expect(await fast.say('.')).toMatch(/^250 /);
    expect(server.received).toHaveLength(1);
  });

  test('of the sink and of a message does not count as time for a command', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<boolean>();
    const server = await servers.start({
      limits: { commandTimeoutMs: 1_500, dataTimeoutMs: LONG_MS },
      accepts: () => opened,
    });
    const waiting = await server.greet();
    await waiting.say(FROM);
    waiting.write(`${TO}\r\n`);
    await waitFor(() => server.asked.length === 1, { what: 'the question about the recipient' });
    // Another session that began later runs out of time meanwhile.
    const idle = await server.open();
    expect((await idle.rest()).at(-1)).toMatch(/^421 /);
    open(true);
    expect(await waiting.answer()).toMatch(/^250 /);
    expect(await waiting.say('DATA')).toMatch(/^354 /);
    expect((await (await server.open()).rest()).at(-1)).toMatch(/^421 /);
    expect(await waiting.say('.')).toMatch(/^250 /);
  });
});
