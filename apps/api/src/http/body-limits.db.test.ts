import { beforeEach, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { setupRawConnections } from '../../test/raw-request.ts';
import type { RawConnection } from '../../test/raw-request.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const MIB = 1024 * 1024;
const MESSAGE = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' };

const api = setupApi();
let caller: Caller;
const { connect } = setupRawConnections();

beforeEach(async () => void (caller = await api.newCaller()));

/** Sends the head of a batch. Its chunked body waits for `100 Continue`. */
async function announced(by = caller): Promise<RawConnection> {
  const raw = await connect(api.port);
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

/** A batch whose body the API is reading. */
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

describe('a key has two batches in flight; the API reads the third when one of them is', () => {
  test.each<[string, (raw: RawConnection) => unknown]>([
    ['stored', (raw) => raw.send(whole([MESSAGE]))],
    ['refused for what it says', (raw) => raw.send(whole([{}]))],
    ['refused as no JSON', (raw) => raw.send(Buffer.concat([chunked('['), LAST_CHUNK]))],
    ['refused as too long', (raw) => raw.send(chunked(Buffer.alloc(32 * MIB + 1, ' ')))],
    ['broken off', (raw) => raw.socket.destroy()],
    ['broken off after a part', (raw) => raw.socket.end(chunked('['), () => raw.socket.destroy())],
    ['ended too early', (raw) => raw.socket.end()],
    ['no HTTP', (raw) => raw.send('no chunk\r\n')],
  ])('%s', async (_, end) => {
    const inFlight = [await begun(), await begun()];
    const third = await announced();
    await begun(await api.newCaller()); // other keys do not wait
    expect(third.received()).toBe('');
    for (const raw of inFlight) end(raw);
    await third.until('HTTP/1.1 100 Continue');
    await begun(); // the second slot is free as well
  });
});

test('a batch whose client disconnects while it waits lets the next one pass', async () => {
  const first = await begun();
  await begun();
  const impatient = await announced();
  const patient = await announced();
  impatient.socket.destroy();
  first.socket.destroy();
  await patient.until('HTTP/1.1 100 Continue');
});

test('32 batches of a key wait, and a further one is refused at once', async () => {
  const first = await begun();
  await begun();
  const waiting: RawConnection[] = [];
  for (let n = 0; n < 33; n += 1) waiting.push(await announced());
  const refused = () => waiting.filter((raw) => raw.received().includes('"instance"'));
  await waitFor(() => refused().length > 0, { what: 'a refusal' });
  expect(refused()[0]?.received()).toMatch(/^HTTP\/1.1 429 [^]*there was no space for this one/);
  first.socket.destroy();
  await waitFor(() => waiting.some((raw) => raw.received().includes('100 Continue')), {
    what: 'a batch to pass',
  });
  expect(refused()).toHaveLength(1);
});

test('a waiting batch that is no HTTP is answered at once', async () => {
  await begun();
  await begun();
  const broken = await announced();
  broken.send('no chunk\r\n');
  expect(await broken.until('"instance"')).toMatch(/^HTTP\/1.1 422 [^]*is not well-formed HTTP/);
});

test('a batch that is too long, or whose key lacks the scope, is refused without waiting', async () => {
  await begun();
  await begun();
  const raw = await connect(api.port);
  const head = ['POST /v1/emails/batch HTTP/1.1', 'Host: api.test', `Authorization: ${caller.authorization}`];
  raw.send([...head, `Content-Length: ${32 * MIB + 1}`, '', ''].join('\r\n'));
  expect(await raw.until('"instance"')).toMatch(/^HTTP\/1.1 413 /);
  const readers = await api.newCaller({ scopes: ['emails:read'] });
  for (let n = 0; n < 3; n += 1) {
    expect(await (await announced(readers)).until('"instance"')).toMatch(/^HTTP\/1.1 403 /);
  }
});

test('many batches at once are all stored', async () => {
  const many = await Promise.all(Array.from({ length: 20 }, () => announced()));
  await Promise.all(
    many.map(async (raw) => {
      await raw.until('HTTP/1.1 100 Continue');
      raw.send(whole([MESSAGE]));
      expect(await raw.until('{"data":')).toContain('HTTP/1.1 200 OK');
    }),
  );
});

test('batches of other keys that are announced and never sent delay no request', async () => {
  const callers = await Promise.all(Array.from({ length: 6 }, () => api.newCaller()));
  await Promise.all([...callers, ...callers].map((each) => begun(each)));
  const body = JSON.stringify([MESSAGE]);
  const head = ['POST /v1/emails/batch HTTP/1.1', 'Host: api.test', `Authorization: ${caller.authorization}`];
  const raw = await connect(api.port);
  raw.send([...head, `Content-Length: ${body.length}`, '', body].join('\r\n'));
  expect(await raw.until('{"data":')).toMatch(/^HTTP\/1.1 200 /);
});

test('a body with one byte per chunk is read like any other', async () => {
  const raw = await begun();
  raw.send(Buffer.concat([...Array.from(JSON.stringify([MESSAGE])).map(chunked), LAST_CHUNK]));
  expect(await raw.until('{"data":')).toMatch(/HTTP\/1.1 200 /);
});

test('a body with too many JSON values is refused unparsed', async () => {
  const raw = await begun();
  raw.send(whole([{ ...MESSAGE, unknown: Array.from({ length: 250_000 }, () => []) }]));
  expect(await raw.until('"instance"')).toMatch(/HTTP\/1.1 422 [^]*has more than 250000 values/);
});

test('a body with more numbers than a message may have bytes is refused unparsed', async () => {
  const raw = await begun();
  raw.send(whole([{ ...MESSAGE, unknown: Array<number>(3_932_161).fill(1) }]));
  expect(await raw.until('"instance"')).toMatch(/HTTP\/1.1 422 [^]*has more than 3932160 numbers in arrays/);
});

test('a batch that breaks off is charged, even unread', async () => {
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
