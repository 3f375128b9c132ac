import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { openRaw } from '../../test/raw-request.ts';
import type { RawConnection } from '../../test/raw-request.ts';
import { startApi } from '../../test/start-api.ts';
import type { Caller, TestApi } from '../../test/start-api.ts';

const MIB = 1024 * 1024;
const MESSAGE = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' };

let api: TestApi;
let caller: Caller;
let open: RawConnection[] = [];

beforeAll(async () => void (api = await startApi()));
afterAll(() => api.stop());
beforeEach(async () => void (caller = await api.newCaller()));
afterEach(() => {
  for (const { socket } of open) socket.destroy();
  open = [];
});

/** The head of a batch whose body follows once it is asked for; it may become as long as a batch can be. */
async function announced(by = caller): Promise<RawConnection> {
  const raw = await openRaw(api.port);
  open.push(raw);
  raw.send(
    [
      'POST /v1/emails/batch HTTP/1.1',
      'Host: api.test',
      `Authorization: ${by.authorization}`,
      'Transfer-Encoding: chunked',
      'Expect: 100-continue',
      '',
      '',
    ].join('\r\n'),
  );
  return raw;
}

/** One whose body is being read. */
async function begun(by = caller): Promise<RawConnection> {
  const raw = await announced(by);
  await raw.until('HTTP/1.1 100 Continue');
  return raw;
}

function chunked(body: string | Buffer): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n');

function whole(body: unknown): Buffer {
  return Buffer.concat([chunked(JSON.stringify(body)), LAST_CHUNK]);
}

describe('of the batches of one key two are in hand; a third is not read before one of them ends', () => {
  test.each<[string, (raw: RawConnection) => unknown]>([
    ['stored', (raw) => raw.send(whole([MESSAGE]))],
    ['refused for what it says', (raw) => raw.send(whole([{}]))],
    ['refused as no JSON', (raw) => raw.send(Buffer.concat([chunked('['), LAST_CHUNK]))],
    ['refused as too long', (raw) => raw.send(chunked(Buffer.alloc(32 * MIB + 1, ' ')))],
    ['broken off', (raw) => raw.socket.destroy()],
    ['broken off, after a part of it', (raw) => raw.socket.end(chunked('['), () => raw.socket.destroy())],
    ['ended too early', (raw) => raw.socket.end()],
    ['no HTTP', (raw) => raw.send('no chunk\r\n')],
  ])('%s', async (_, end) => {
    const inHand = [await begun(), await begun()];
    const third = await announced();
    await begun(await api.newCaller()); // nobody else is held up
    expect(third.received()).toBe('');
    for (const raw of inHand) end(raw);
    await third.until('HTTP/1.1 100 Continue');
    await begun(); // the other's place is free as well
  });
});

test('one that goes while it waits leaves its place to those behind it', async () => {
  const first = await begun();
  await begun();
  const impatient = await announced();
  const patient = await announced();
  impatient.socket.destroy();
  first.socket.destroy();
  await patient.until('HTTP/1.1 100 Continue');
});

test('one that waits and turns out to be no HTTP is answered without its turn', async () => {
  await begun();
  await begun();
  const broken = await announced();
  broken.send('no chunk\r\n');
  expect(await broken.until('"instance"')).toMatch(/^HTTP\/1.1 422 [^]*is not well-formed HTTP/);
});

test('one that is too long, or of a key without the scope, is refused without waiting', async () => {
  await begun();
  await begun();
  const raw = await openRaw(api.port);
  open.push(raw);
  const head = ['POST /v1/emails/batch HTTP/1.1', 'Host: api.test', `Authorization: ${caller.authorization}`];
  raw.send([...head, `Content-Length: ${32 * MIB + 1}`, '', ''].join('\r\n'));
  expect(await raw.until('"instance"')).toMatch(/^HTTP\/1.1 413 /);
  const readers = await api.newCaller({ scopes: ['emails:read'] });
  for (let n = 0; n < 3; n += 1) {
    expect(await (await announced(readers)).until('"instance"')).toMatch(/^HTTP\/1.1 403 /);
  }
});

test('many at once are all stored, each in its turn', async () => {
  const many = await Promise.all(Array.from({ length: 20 }, () => announced()));
  await Promise.all(
    many.map(async (raw) => {
      await raw.until('HTTP/1.1 100 Continue');
      raw.send(whole([MESSAGE]));
      expect(await raw.until('{"data":')).toContain('HTTP/1.1 200 OK');
    }),
  );
});

test('batches of others that are announced, and do not come, hold up nobody', async () => {
  const callers = await Promise.all(Array.from({ length: 6 }, () => api.newCaller()));
  await Promise.all([...callers, ...callers].map((each) => begun(each)));
  const body = JSON.stringify([MESSAGE]);
  const head = ['POST /v1/emails/batch HTTP/1.1', 'Host: api.test', `Authorization: ${caller.authorization}`];
  const raw = await openRaw(api.port);
  open.push(raw);
  raw.send([...head, `Content-Length: ${body.length}`, '', body].join('\r\n'));
  expect(await raw.until('{"data":')).toMatch(/^HTTP\/1.1 200 /);
});

test('a body of one byte a chunk is read like any other', async () => {
  const raw = await begun();
  raw.send(Buffer.concat([...Array.from(JSON.stringify([MESSAGE])).map(chunked), LAST_CHUNK]));
  expect(await raw.until('{"data":')).toMatch(/HTTP\/1.1 200 /);
});

test('a body of more values than any batch can want is refused unparsed', async () => {
  const raw = await begun();
  raw.send(whole([{ ...MESSAGE, unknown: Array.from({ length: 250_000 }, () => []) }]));
  expect(await raw.until('"instance"')).toMatch(/HTTP\/1.1 422 [^]*has more than 250000 values/);
});

test('one that was broken off is charged for, also unread', async () => {
  await begun();
  await begun();
  const waiting = await announced();
  await begun(await api.newCaller());
  const usedBefore = await used();
  waiting.socket.destroy();
  await waitFor(async () => (await used()) === usedBefore + 1, { what: 'the charge' });
});

async function used(): Promise<number> {
  const [row] = await api.database.query<{ used: number }>('select used from rate_limits where key = $1', [
    caller.keyId,
  ]);
  return row?.used ?? 0;
}
