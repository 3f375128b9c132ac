import { createServer } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { fakeClock, listen, testWithIpv6 } from '@postrider/testing';
import { createTransport } from 'nodemailer';
import { beginMessage, FROM, HOSTNAME, testServers, TO } from '../../test/test-server.ts';

const servers = testServers();

describe('a message', () => {
  test('of nodemailer is received byte for byte behind one Received field', async () => {
    const server = await servers.start({ clock: fakeClock('2026-11-03T09:05:00Z') });
    const transport = createTransport({ host: '127.0.0.1', port: server.port, name: 'client.example' });
    const sent = 'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\n.\r\n..\r\n.leading dot\r\nend ü 🎉\r\n';
    const info = (await transport.sendMail({
      envelope: { from: 'sender@client.example', to: ['a+tag@inbox.example', 'B@inbox.example'] },
      raw: sent,
    })) as { accepted: string[]; response: string };
    transport.close();

    expect(info.accepted).toEqual(['a+tag@inbox.example', 'B@inbox.example']);
    const [received] = server.received;
    if (received === undefined) throw new Error('nothing was received');
    const { envelope, message, raw } = received;
    expect(envelope).toEqual({
      client: '127.0.0.1',
      remoteAddress: '127.0.0.1',
      helo: 'client.example',
      mailFrom: 'sender@client.example',
      recipients: ['a+tag@inbox.example', 'B@inbox.example'],
      tls: false,
      sessionId: envelope.sessionId,
      traceBytes: raw.length - message.length,
    });
    expect(raw.subarray(0, envelope.traceBytes).toString()).toBe(
      'Received: from client.example ([127.0.0.1])\r\n' +
        `\tby ${HOSTNAME} with ESMTP id ${envelope.sessionId}.1;\r\n` +
        '\tTue, 03 Nov 2026 09:05:00 +0000\r\n',
    );
    expect(info.response).toBe(`250 2.6.0 OK, received as ${envelope.sessionId}.1`);
    expect(Buffer.from(message, 'latin1').toString()).toBe(sent);
  });

  test('is these bytes, 8-bit, NUL and long lines among them', async () => {
    const server = await servers.start();
    const client = await server.greet();
    const bytes = Buffer.concat([
      Buffer.from('Subject: x\r\n\r\n'),
      Buffer.from(Array.from({ length: 256 }, (_, index) => index)),
      Buffer.alloc(100_000, 'y'),
      Buffer.from('\r\n'),
    ]);
    expect(await client.say('MAIL FROM:<s@client.example> BODY=8BITMIME')).toBe('250 2.1.0 Accepted');
    await client.say(TO);
    await client.say('DATA');
    client.write(bytes);
    expect(await client.say('.')).toMatch(/^250 2\.6\.0 /);
    expect(server.received[0]?.message).toBe(bytes.toString('latin1'));
  });

  test('may be empty', async () => {
    const server = await servers.start();
    const client = await server.greet();
    await beginMessage(client);
    expect(await client.say('.')).toMatch(/^250 /);
    expect(server.received[0]?.message).toBe('');
  });

  test('starts fresh: the previous message does not affect its decoding', async () => {
    const server = await servers.start();
    const client = await server.greet();
    await beginMessage(client);
    client.write('in two');
    await client.flushed();
    expect(await client.say(' packets\r\n.')).toMatch(/^250 /);
    await beginMessage(client);
    expect(await client.say('..\r\n.')).toMatch(/^250 /);
    await beginMessage(client);
    expect(await client.say('.')).toMatch(/^250 /);
    expect(server.received.map(({ message }) => message)).toEqual(['in two packets\r\n', '.\r\n', '']);
  });

  test('may come from the null sender', async () => {
    const server = await servers.start();
    const client = await server.greet('HELO client.example');
    await client.say('MAIL FROM:<>');
    await client.say(TO);
    await client.say('DATA');
    expect(await client.say('.')).toMatch(/^250 /);
    expect(server.received[0]?.envelope.mailFrom).toBe('');
    expect(server.received[0]?.raw.toString()).toContain('with SMTP id');
  });

  test('with all its commands in one packet, and a second one behind it, is received', async () => {
    const server = await servers.start();
    const client = await server.open();
    await client.answer();
    const transaction = `${FROM}\r\n${TO}\r\nDATA\r\n`;
    client.write(`EHLO client.example\r\n${transaction}one\r\n.\r\n${transaction}two\r\n.\r\nQUIT\r\n`);
    const codes = (await client.rest()).map((answer) => answer.slice(0, 3));
    expect(codes).toEqual(['250', '250', '250', '354', '250', '250', '250', '354', '250', '221']);
    expect(server.received.map(({ message }) => message)).toEqual(['one\r\n', 'two\r\n']);
  });

  test('that the client breaks off is not received', async () => {
    const server = await servers.start();
    const client = await server.greet();
    await beginMessage(client);
    client.write('Subject: half\r\n\r\nhalf a message\r\n.');
    await client.flushed();
    client.destroy();
    const next = await server.greet();
    await beginMessage(next);
    await next.say('whole\r\n.');
    expect(server.received.map(({ message }) => message)).toEqual(['whole\r\n']);
  });
});

describe('the answer to EHLO', () => {
  test('offers only real extensions, and no login', async () => {
    const server = await servers.start();
    const client = await server.open();
    expect(await client.answer()).toBe(`220 ${HOSTNAME} ESMTP`);
    expect((await client.say('EHLO client.example')).split('\n')).toEqual([
      `250-${HOSTNAME}`,
      '250-PIPELINING',
      '250-8BITMIME',
      '250-SMTPUTF8',
      '250-ENHANCEDSTATUSCODES',
      '250 SIZE 10485760',
    ]);
  });

  test.each([
    'AUTH PLAIN AGEAYg==',
    'STARTTLS',
    'XCLIENT ADDR=192.0.2.1',
    'XFORWARD ADDR=192.0.2.1',
    'WIZ x',
  ])('%s is not there', async (command) => {
    const server = await servers.start();
    const client = await server.greet();
    expect(await client.say(command)).toMatch(/^500 5\.5\.2 /);
  });
});

describe('a sender', () => {
  test.each([
    'user..name@docomo.ne.jp',
    '.abc@ezweb.ne.jp',
    'user.@example.com',
    'bounce@em_1234.example.com',
    `reply+${'0f'.repeat(100)}@reply.example`,
    '"a b"@sender.example',
    '"a@b \\" c"@sender.example',
    'grüße@sender.example',
  ])('%s is accepted, and kept as written', async (sender) => {
    const server = await servers.start();
    const client = await server.greet();
    expect(await client.say(`MAIL FROM:<${sender}> SMTPUTF8`)).toMatch(/^250 /);
    expect(await client.say('RCPT TO:<a@inbox.example>')).toMatch(/^250 /);
    await client.say('DATA');
    client.write('Hi\r\n');
    expect(await client.say('.')).toMatch(/^250 /);
    expect(server.received[0]?.envelope.mailFrom).toBe(sender);
  });

  test.each([
    'a b@sender.example',
    '"a\tb"@sender.example',
    '"a<b"@sender.example',
    'sender.example',
    'a@b@c.example',
  ])('%j is a syntax error, and the session continues', async (sender) => {
    const server = await servers.start();
    const client = await server.greet();
    expect(await client.say(`MAIL FROM:<${sender}>`)).toBe('501 5.1.7 Error: Bad sender address syntax');
    expect(await client.say(FROM)).toMatch(/^250 /);
  });
});

describe('a recipient', () => {
  test.each([
    ['elsewhere@example.org', '550 5.1.1 No such mailbox here'],
    ['user%example.org@inbox.example.org', '550 5.1.1 No such mailbox here'],
    ['example.org!user@example.net', '550 5.1.1 No such mailbox here'],
    ['@inbox.example:elsewhere@example.org', '550 5.1.1 No such mailbox here'],
    ['postmaster', '550 5.1.1 No such mailbox here'],
    ['a@inbox.example@example.org', '501 5.1.3 Error: Bad recipient address syntax'],
    ['"a b"@elsewhere.example', '550 5.1.1 No such mailbox here'],
    ['"a>b"@inbox.example', '501 5.1.3 Error: Bad recipient address syntax'],
    ['a\rDATA@inbox.example', '501 5.1.3 Error: Bad recipient address syntax'],
    ['a\u0000b@inbox.example', '501 5.1.3 Error: Bad recipient address syntax'],
    ['', '501 5.1.3 Error: Bad recipient address syntax'],
  ])('%j is refused: nothing is relayed', async (address, answer) => {
    const server = await servers.start();
    const client = await server.greet();
    await client.say(FROM);
    expect(await client.say(`RCPT TO:<${address}>`)).toBe(answer);
    expect(await client.say('DATA')).toMatch(/^503 /);
    expect(server.received).toEqual([]);
  });

  test.each([
    ['A+tag@inbox.example', 'A+tag@inbox.example'],
    ['user%example.org@inbox.example', 'user%example.org@inbox.example'],
    ['@relay.example:a@inbox.example', 'a@inbox.example'],
    ['grüße@inbox.example', 'grüße@inbox.example'],
  ])('%j is known: the sink is asked about it and gets it as written', async (written, recipient) => {
    const server = await servers.start();
    const client = await server.greet();
    await beginMessage(client, `RCPT TO:<${written}>`);
    expect(await client.say('.')).toMatch(/^250 /);
    expect(server.asked).toEqual([recipient]);
    expect(server.received[0]?.envelope.recipients).toEqual([recipient]);
  });

  test('keeps its domain as written: xn-- is not turned into Unicode', async () => {
    const recipient = 'a@xn--bcher-kva.example';
    const server = await servers.start({ accepts: async () => true });
    const client = await server.greet();
    await beginMessage(client, `RCPT TO:<${recipient}>`);
    await client.say('.');
    expect([server.asked, server.received[0]?.envelope.recipients]).toEqual([[recipient], [recipient]]);
  });

  test('is not told by VRFY and EXPN', async () => {
    const server = await servers.start();
    const client = await server.greet();
    const answers = [];
    for (const name of ['a@inbox.example', 'nobody@inbox.example', 'x@example.org']) {
      answers.push(await client.say(`VRFY ${name}`), await client.say(`EXPN ${name}`));
    }
    expect(new Set(answers)).toEqual(
      new Set([
        '252 2.1.5 Try to send something. No promises though',
        '500 5.5.2 Error: command not recognized',
      ]),
    );
    expect(server.asked).toEqual([]);
  });
});

describe('what the client says of itself', () => {
  test('does not appear in the log, and breaks no header', async () => {
    const server = await servers.start({
      accepts: async (recipient) => {
        if (recipient.startsWith('broken')) throw new Error('no connection');
        return true;
      },
      receive: async () => Promise.reject(new Error('no disk')),
    });
    const client = await server.greet('EHLO hostile-name)(;"<x>');
    await client.say('RCPT TO:<broken-hostile@inbox.example>');
    await beginMessage(client, 'RCPT TO:<broken-hostile@inbox.example>', 'RCPT TO:<hostile@inbox.example>');
    await client.say('Subject: hostile\r\n\r\nhostile\r\n.');
    await client.say('HOSTILE');
    await client.say('QUIT');
    expect(server.received[0]?.raw.toString()).toMatch(/^Received: from hostile-name\?{5}x\? \(/);
    expect(server.log()).toContain('recipient not judged');
    expect(server.log()).toContain('message not received');
    expect(server.log()).not.toMatch(/hostile|@(inbox|client)\.example/i);
  });
});

describe('the address of a client', () => {
  testWithIpv6('that comes by IPv4 to an IPv6 socket is an IPv4 address', async () => {
    const server = await servers.start({ host: '::' });
    const client = await server.greet();
    await beginMessage(client);
    await client.say('.');
    expect(server.received[0]?.envelope.remoteAddress).toBe('127.0.0.1');
    expect(server.received[0]?.raw.toString()).toContain('([127.0.0.1])');
  });
});

describe('the server', () => {
  test('does not start on a port in use, and says so', async () => {
    const { port, close } = await listen(createServer());
    await expect(servers.start({ port })).rejects.toThrow('EADDRINUSE');
    await close();
  });

  test('tells its port while it listens', async () => {
    const server = await servers.start();
    expect(server.inbound.port()).toBe(server.port);
    await server.inbound.stop();
    expect(() => server.inbound.port()).toThrow('does not listen');
    await server.inbound.stop();
  });

  test('takes no browser for a client', async () => {
    const server = await servers.start();
    const client = await server.open();
    await client.answer();
    client.write('POST / HTTP/1.1\r\nHost: x\r\n\r\nEHLO a\r\n');
    expect(await client.rest()).toEqual(['421 4.4.2 HTTP requests not allowed']);
  });
});
