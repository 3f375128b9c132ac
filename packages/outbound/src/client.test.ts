import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  after,
  answer,
  answerThenResetNext,
  answerUnread,
  type Behaviour,
  closeInsideHead,
  closeWithoutAnswer,
  createTestAuthority,
  dripBody,
  dripHead,
  duplicateContentLength,
  endlessBody,
  endlessHead,
  garbage,
  hang,
  headerBomb,
  http09,
  interimFlood,
  malformedBody,
  raw,
  redirectTo,
  resetAfterHead,
  resetBeforeHead,
  type ScriptedReceiver,
  startScriptedReceiver,
  switchProtocols,
  type TestAuthority,
  truncatedBody,
  waitFor,
} from '@postrider/testing';
import { startThreadedReceiver } from '../test/threaded-receiver.ts';
import { createEndpointClient, type EndpointClient, type EndpointClientOptions } from './client.ts';
import type { EndpointAnswer } from './endpoint-answer.ts';
import { createAddressGuard } from './guard/address-guard.ts';

const guard = createAddressGuard({ allowedNetworks: ['127.0.0.1/32'] });
const body = Buffer.from('{"id":"evt_1"}');

let authority: TestAuthority;
let receiver: ScriptedReceiver;
const clients: EndpointClient[] = [];

beforeAll(async () => {
  authority = await createTestAuthority();
});
beforeEach(async () => {
  receiver = await startScriptedReceiver({ authority });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await receiver.close();
});

function createClient(options: Partial<EndpointClientOptions> = {}): EndpointClient {
  const client = createEndpointClient({
    guard,
    timeoutMs: 20_000,
    socketsPerHost: 4,
    ca: [authority.caPem],
    ...options,
  });
  clients.push(client);
  return client;
}

function post(client: EndpointClient, endpoint = receiver.url('/hook')): Promise<EndpointAnswer> {
  return client.post({ endpoint, body, headers: { 'Service-Event-Id': 'evt_1' } });
}

describe('the request', () => {
  test('carries exactly the bytes and headers of the delivery', async () => {
    await post(createClient());
    const [request] = receiver.requests;
    expect(request?.method).toBe('POST');
    expect(request?.path).toBe('/hook');
    expect(request?.body).toEqual(body);
    expect(request?.headers).toEqual({
      'content-type': 'application/json',
      'content-length': String(body.length),
      'user-agent': 'Postrider/1',
      'service-event-id': 'evt_1',
      host: `127.0.0.1:${receiver.port}`,
      connection: 'keep-alive',
    });
  });

  test('keeps the query of the endpoint', async () => {
    await post(createClient(), receiver.url('/hook?a=1&b=%2f'));
    expect(receiver.requests[0]?.path).toBe('/hook?a=1&b=%2f');
  });

  test('with a header that cannot be sent is our own fault: it rejects', async () => {
    const unusable = createClient().post({
      endpoint: receiver.url('/hook'),
      body,
      headers: { 'x-bad': 'a\nb' },
    });
    await expect(unusable).rejects.toThrow(/Invalid character in header content/);
    await waitFor(() => receiver.openSockets === 0, { what: 'the connection made for it to be closed' });
    expect(receiver.requests).toEqual([]);
  });
});

describe('a complete final head is an answer, whatever becomes of the body', () => {
  const cases: [string, Behaviour, number][] = [
    ['200', answer(200), 200],
    ['204', answer(204), 204],
    ['410', answer(410), 410],
    ['503 with a body', answer(503, { body: 'try later' }), 503],
    ['a redirect is not followed', redirectTo('https://127.0.0.1:1/elsewhere'), 302],
    ['308 is not followed', redirectTo('/elsewhere', 308), 308],
    ['status 000', raw('HTTP/1.1 000 Zero\r\ncontent-length: 0\r\n\r\n'), 0],
    ['status 999', raw('HTTP/1.1 999 Nine\r\ncontent-length: 0\r\n\r\n'), 999],
    ['HTTP/1.0', raw('HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok'), 200],
    [
      'interim heads before it',
      raw('HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n'),
      201,
    ],
    ['101 with an upgrade', switchProtocols(), 101],
    ['101 without one', switchProtocols({ upgrade: false }), 101],
    ['endless body', endlessBody(200), 200],
    ['endless body of a failure', endlessBody(500), 500],
    ['reset after the head', resetAfterHead(200), 200],
    ['truncated body', truncatedBody(200), 200],
    ['truncated body of a 410', truncatedBody(410), 410],
    ['malformed chunks', malformedBody(202), 202],
    ['garbage right behind the head', raw('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\ngarbage'), 200],
    [
      'a second answer behind the first',
      raw('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 No\r\n\r\n'),
      200,
    ],
    [
      'a content encoding that does not hold',
      answer(200, { headers: { 'content-encoding': 'gzip' }, body: 'x' }),
      200,
    ],
  ];

  test.each([true, false])(
    'after a 101 (with an upgrade: %s) the connection is not used again',
    async (upgrade) => {
      receiver.script('/hook', [switchProtocols({ upgrade }), answer(200)]);
      const client = createClient();
      expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 101 });
      expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 200 });
    },
  );

  test.each(cases)('%s', async (_, behaviour, statusCode) => {
    receiver.script('/hook', [behaviour]);
    expect(await post(createClient())).toMatchObject({ kind: 'answered', statusCode });
    expect(receiver.requests).toHaveLength(1);
  });

  test.each([200, 500])('a dripping body under status %d is cut at the deadline', async (status) => {
    receiver.script('/hook', [dripBody(status)]);
    expect(await post(createClient({ timeoutMs: 300 }))).toMatchObject({
      kind: 'answered',
      statusCode: status,
    });
    await waitFor(() => receiver.openSockets === 0, { what: 'every connection to be closed' });
  });
});

describe('what is kept of the body', () => {
  test('is all of a short one', async () => {
    receiver.script('/hook', [answer(500, { body: 'boom' })]);
    expect(await post(createClient())).toEqual({
      kind: 'answered',
      statusCode: 500,
      excerpt: Buffer.from('boom'),
    });
  });

  test('is the first KiB of a longer one', async () => {
    const long = Buffer.from('0123456789abcdef'.repeat(512));
    receiver.script('/hook', [answer(500, { body: long })]);
    const excerpt = Buffer.from(long.subarray(0, 1024));
    expect(await post(createClient())).toEqual({ kind: 'answered', statusCode: 500, excerpt });
  });
});

describe('a head that never completes is a failed attempt', () => {
  const cases: [string, Behaviour, string | RegExp][] = [
    ['reset', resetBeforeHead(), 'connection closed before a complete response (ECONNRESET)'],
    ['close', closeWithoutAnswer(), 'connection closed before a complete response (ECONNRESET)'],
    ['close inside the head', closeInsideHead(), /^(malformed response|connection closed before)/],
    ['garbage', garbage(), 'malformed response'],
    ['HTTP/0.9', http09(), 'malformed response'],
    ['two content lengths', duplicateContentLength(), 'malformed response'],
    [
      'a control character in a header',
      raw('HTTP/1.1 200 OK\r\nx: \u0000\u001b[31m\r\n\r\n'),
      'malformed response',
    ],
    ['header bomb', headerBomb(), 'response head larger than 16384 bytes'],
    ['endless head', endlessHead(), 'response head larger than 16384 bytes'],
    ['flood of 100', interimFlood(100), 'more than 32 interim responses'],
    ['flood of 103', interimFlood(103), 'more than 32 interim responses'],
  ];

  test.each(cases)('%s', async (_, behaviour, error) => {
    receiver.script('/hook', [behaviour]);
    const answered = await post(createClient());
    expect(answered).toMatchObject({ kind: 'failed', cause: 'protocol' });
    expect('error' in answered ? answered.error : '').toMatch(
      typeof error === 'string' ? exactly(error) : error,
    );
    expect(receiver.requests).toHaveLength(1);
    await waitFor(() => receiver.openSockets === 0, { what: 'every connection to be closed' });
  });

  test.each<[string, Behaviour]>([
    ['silence', hang()],
    ['a dripping head', dripHead()],
  ])('%s ends at the deadline', async (_, behaviour) => {
    receiver.script('/hook', [behaviour]);
    const timedOut = { kind: 'failed', cause: 'timeout', error: 'timeout after 300 ms' };
    expect(await post(createClient({ timeoutMs: 300 }))).toEqual(timedOut);
    await waitFor(() => receiver.openSockets === 0, { what: 'every connection to be closed' });
  });
});

test('an answer that was there before the deadline counts, though this process was kept from reading it', async () => {
  const timeoutMs = 400;
  const late: Behaviour = {
    status: 200,
    play({ socket }) {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      for (const until = performance.now() + timeoutMs; performance.now() < until;); // holds the event loop
    },
  };
  receiver.script('/hook', [late]);
  expect(await post(createClient({ timeoutMs }))).toMatchObject({ kind: 'answered', statusCode: 200 });
});

describe('connections', () => {
  test('one serves many attempts', async () => {
    const client = createClient();
    receiver.script('/hook', [answer(200), answer(500, { body: 'x'.repeat(16_384) }), answer(204)]);
    for (let count = 0; count < 6; count += 1) await post(client);
    expect(receiver.connections).toBe(1);
  });

  test('one serves many attempts, also when this process reads the answer before it has heard that the request went out', async () => {
    const threaded = await startThreadedReceiver(authority);
    const client = createClient();
    const connectionsSoFar: (string | undefined)[] = [];
    for (let count = 1; count <= 4; count += 1) {
      // Written by one immediate: Node tells of it in the next round of the event loop, after it has read what came meanwhile.
      const posting = new Promise<EndpointAnswer>((resolve) => {
        setImmediate(() => resolve(post(client, threaded.url)));
        if (count > 1) setImmediate(() => threaded.holdUntilAnswered(count));
      });
      const answered = await posting;
      connectionsSoFar.push(answered.kind === 'answered' ? answered.excerpt.toString() : answered.kind);
    }
    await threaded.close();
    expect(connectionsSoFar).toEqual(['1', '1', '1', '1']);
  });

  test('is not used again after a body over 16 KiB', async () => {
    const client = createClient();
    receiver.script('/hook', [answer(200, { body: 'x'.repeat(16_385) })]);
    await post(client);
    await post(client);
    expect(receiver.connections).toBe(2);
  });

  test('a pooled connection that turns out dead costs one immediate second request, not the attempt', async () => {
    const client = createClient();
    receiver.script('/hook', [answerThenResetNext(), answer(202)]);
    await post(client);
    expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 202 });
    expect(receiver.connections).toBe(2);
  });

  test('so it is with one that was handed on to an attempt waiting for a connection', async () => {
    const client = createClient({ socketsPerHost: 1 });
    const [gate, open] = createGate();
    receiver.script('/hook', [after(gate, answerThenResetNext(201)), answer(202)]);
    const answers = Promise.all([post(client), post(client)]);
    await receiver.waitForRequests(1);
    open();
    expect(await answers).toMatchObject([{ statusCode: 201 }, { statusCode: 202 }]);
    expect(receiver.connections).toBe(2);
  });

  test('the second request is the last: a reset on it fails the attempt', async () => {
    const client = createClient();
    receiver.script('/hook', [answer(200), resetBeforeHead(), resetBeforeHead()]);
    await post(client);
    expect(await post(client)).toMatchObject({ kind: 'failed', cause: 'protocol' });
    expect(receiver.requests).toHaveLength(3);
  });

  test('nor is there a third when the second is handed a connection that dies too', async () => {
    const client = createClient({ socketsPerHost: 1 });
    const [gate, open] = createGate();
    receiver.script('/hook', [after(gate, answerThenResetNext(201)), answerThenResetNext(202)]);
    const answers = Promise.all([post(client), post(client), post(client)]);
    await receiver.waitForRequests(1);
    open();
    // The first connection dies under the second attempt, which queues behind the third and inherits its connection.
    expect(await answers).toMatchObject([{ statusCode: 201 }, { kind: 'failed' }, { statusCode: 202 }]);
  });

  test('the second request goes out on a new connection though another idle one is there', async () => {
    const client = createClient();
    await openTwo(client);
    receiver.script('/hook', [resetBeforeHead(), answer(202)]);
    expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 202 });
    expect(receiver.requests.at(-1)?.socketId).toBe(3);
  });

  test('a pooled connection that dies after the first byte of an answer fails the attempt: the endpoint had the request', async () => {
    const client = createClient();
    receiver.script('/hook', [answer(200), closeInsideHead()]);
    await post(client);
    expect(await post(client)).toMatchObject({ kind: 'failed', cause: 'protocol' });
    expect(receiver.requests).toHaveLength(2);
  });

  test('a reset on a new connection is not retried', async () => {
    receiver.script('/hook', [resetBeforeHead()]);
    expect(await post(createClient())).toMatchObject({ kind: 'failed' });
    expect(receiver.requests).toHaveLength(1);
  });

  test('the second request is bound by the deadline of the first', async () => {
    const client = createClient({ timeoutMs: 400 });
    receiver.script('/hook', [answer(200), resetBeforeHead(), hang()]);
    await post(client);
    expect(await post(client)).toMatchObject({ kind: 'failed', error: 'timeout after 400 ms' });
  });

  test('an answer that overtakes a request the endpoint never reads frees the connection', async () => {
    const client = createClient({ socketsPerHost: 1 });
    receiver.script('/hook', [answerUnread()]);
    const large = Buffer.alloc(32 * 1024 * 1024, ' ');
    const overtaken = await client.post({ endpoint: receiver.url('/hook'), body: large, headers: {} });
    expect(overtaken).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 200 });
  });

  test('no more than allowed go to one host, and waiting for one counts against the deadline', async () => {
    const client = createClient({ socketsPerHost: 2, timeoutMs: 400 });
    receiver.always('/hook', hang());
    const posts = Array.from({ length: 10 }, () => post(client));
    await Promise.race(posts);
    expect(receiver.requests).toHaveLength(2);
    const answers = await Promise.all(posts);
    expect(answers.map((one) => 'error' in one && one.error)).toEqual(Array(10).fill('timeout after 400 ms'));
    // On a busy machine some get the place of one whose time was over a moment before theirs.
    expect(receiver.requests.length).toBeLessThan(10);
  });

  test('an attempt that waited for a connection gets the next free one', async () => {
    const client = createClient({ socketsPerHost: 1 });
    const [gate, open] = createGate();
    receiver.script('/hook', [after(gate, answer(201)), answer(202)]);
    const answers = Promise.all([post(client), post(client)]);
    await receiver.waitForRequests(1);
    open();
    expect(await answers).toMatchObject([{ statusCode: 201 }, { statusCode: 202 }]);
    expect(receiver.connections).toBe(1);
  });

  test('200 attempts that time out leave none behind, and the endpoint is served again at once', async () => {
    const client = createClient({ socketsPerHost: 50, timeoutMs: 800 });
    receiver.always('/hook', hang());
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(client)));
    expect(answers.every((one) => one.kind === 'failed' && one.cause === 'timeout')).toBe(true);
    await waitFor(() => receiver.openSockets === 0, { what: 'every connection to be closed' });
    receiver.always('/hook', answer(200));
    expect(await post(createClient())).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 200 });
  });
});

describe('a closed client', () => {
  test('takes no attempt', async () => {
    const client = createClient();
    client.close();
    await expect(post(client)).rejects.toThrow('the endpoint client is closed');
  });

  test('rejects what was under way, so that nobody counts it against the endpoint', async () => {
    const client = createClient();
    receiver.always('/hook', hang());
    const underWay = expect(post(client)).rejects.toThrow(
      'the endpoint client was closed during the attempt',
    );
    await receiver.waitForRequests(1);
    client.close();
    await underWay;
    await waitFor(() => receiver.openSockets === 0, { what: 'every connection to be closed' });
  });
});

function exactly(text: string): RegExp {
  return new RegExp(`^${text.replace(/[()]/g, '\\$&')}$`);
}

function createGate(): [Promise<void>, () => void] {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [gate, open];
}

/** Leaves the client with two idle connections to the receiver. */
async function openTwo(client: EndpointClient): Promise<void> {
  const [gate, open] = createGate();
  receiver.script('/hook', [after(gate, answer(200)), after(gate, answer(200))]);
  const both = Promise.all([post(client), post(client)]);
  await receiver.waitForRequests(2);
  open();
  await both;
  expect(receiver.openSockets).toBe(2);
}
