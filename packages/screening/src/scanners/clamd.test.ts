import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  type ClamdBehaviour,
  cleanUpAfterEach,
  CLOSED_PORT,
  EICAR,
  type FakeClamd,
  startFakeClamd,
  startTcpListener,
  waitFor,
} from '@postrider/testing';
import { ClamdScanner } from './clamd.ts';
import { ScreeningUnavailableError } from './screening-unavailable-error.ts';

const CLEAN = Buffer.from('Subject: clean\r\n\r\nHello\r\n');
const INFECTED = Buffer.from(`Subject: infected\r\n\r\n${EICAR}\r\n`);

const atEnd = cleanUpAfterEach();

async function start(path?: string): Promise<FakeClamd> {
  const clamd = await startFakeClamd(path);
  atEnd(() => clamd.close());
  return clamd;
}

function scan(address: string, raw: Uint8Array, timeoutMs = 20_000) {
  const [host = '', port = ''] = address.split(':');
  const target = host === 'unix' ? { path: port } : { host, port: Number(port) };
  return new ClamdScanner({ target, timeoutMs }).scan(raw);
}

describe('clamd', () => {
  test('finds a virus', async () => {
    const clamd = await start();
    expect(await scan(clamd.address, INFECTED)).toBe(true);
  });

  test('finds none', async () => {
    const clamd = await start();
    expect(await scan(clamd.address, CLEAN)).toBe(false);
    expect(clamd.streams).toEqual([CLEAN]);
    await waitFor(() => clamd.openSockets === 0, { what: 'the connection to be closed' });
  });

  test('gets 10 MiB whole, and an empty message', async () => {
    const clamd = await start();
    const large = Buffer.alloc(10 * 1_048_576, 'x');
    large.write(EICAR, large.length - EICAR.length);
    expect(await scan(clamd.address, large)).toBe(true);
    expect(clamd.streams[0]?.equals(large)).toBe(true);
    expect(await scan(clamd.address, Buffer.alloc(0))).toBe(false);
  });

  test('is reached over a unix socket', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clamd-'));
    atEnd(() => rm(folder, { recursive: true }));
    const clamd = await start(join(folder, 'clamd.sock'));
    expect(await scan(clamd.address, INFECTED)).toBe(true);
  });

  test('scans several at once', async () => {
    const clamd = await start();
    const scans = await Promise.all([CLEAN, INFECTED, CLEAN].map((raw) => scan(clamd.address, raw)));
    expect(scans).toEqual([false, true, false]);
  });
});

describe('clamd gives no verdict', () => {
  test.each<[string, ClamdBehaviour, string | RegExp]>([
    ['when it hangs', 'hang', 'clamd: no reply within 300 ms'],
    ['when it hangs up', 'close', /^clamd: (closed without a reply|.*(ECONNRESET|EPIPE))/],
    [
      'when the message is too large for it',
      'refuse',
      /^clamd: ("INSTREAM size limit exceeded. ERROR"|.*(ECONNRESET|EPIPE))/,
    ],
    [
      'when it has an error',
      { reply: 'stream: lstat() failed ERROR\0' },
      'clamd: "stream: lstat() failed ERROR"',
    ],
    ['when it answers garbage', { reply: '\x1b[2J OK\0' }, 'clamd: "\\u001b[2J OK"'],
    ['when its reply does not end', { reply: 'stream: OK' }, 'clamd: closed without a reply'],
    [
      'when its reply is too long',
      { reply: 'x'.repeat(5000) },
      'clamd: more than 4096 bytes without a reply',
    ],
  ])('%s', async (_, behaviour, error) => {
    const clamd = await start();
    clamd.behaviour = behaviour;
    const failure = scan(
      clamd.address,
      Buffer.concat([CLEAN, Buffer.alloc(2_000_000, 'x')]),
      behaviour === 'hang' ? 300 : 20_000,
    );
    await expect(failure).rejects.toThrow(ScreeningUnavailableError);
    await expect(failure).rejects.toThrow(error);
    await waitFor(() => clamd.openSockets === 0, { what: 'the connection to be closed' });
  });

  test('when it reads nothing', async () => {
    const listener = await startTcpListener((socket) => socket.pause());
    atEnd(() => listener.close());
    const failure = scan(`127.0.0.1:${listener.port}`, Buffer.alloc(10 * 1_048_576), 300);
    await expect(failure).rejects.toThrow('clamd: no reply within 300 ms');
  });

  test('when it is away', async () => {
    await expect(scan(`127.0.0.1:${CLOSED_PORT}`, CLEAN)).rejects.toThrow(/^clamd: connect ECONNREFUSED/);
    await expect(scan('unix:/nowhere/clamd.sock', CLEAN)).rejects.toThrow(/^clamd: connect ENOENT/);
  });
});
