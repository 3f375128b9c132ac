import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  answer,
  type Behaviour,
  closeInsideHead,
  closeWithoutAnswer,
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
  switchProtocols,
  truncatedBody,
  waitFor,
} from '@postrider/testing';
import { forEachHttpClient } from '../../test/client-fixture.ts';
import type { EndpointClient } from '../client.ts';
import type { EndpointResult } from '../endpoint-result.ts';

const body = Buffer.from('{"id":"evt_1"}');

forEachHttpClient((fixture) => {
  let receiver: ScriptedReceiver;

  beforeEach(async () => {
    receiver = await fixture.startReceiver();
  });

  function post(client: EndpointClient, endpoint = receiver.url('/hook')): Promise<EndpointResult> {
    return client.post({ endpoint, body, headers: { 'Service-Event-Id': 'evt_1' } });
  }

  describe('the request', () => {
    test('carries exactly the bytes and headers of the delivery', async () => {
      await post(fixture.createClient());
      const [request] = receiver.requests;
      expect(request?.method).toBe('POST');
      expect(request?.path).toBe('/hook');
      expect(request?.body).toEqual(body);
      // Every client sends the same bytes: an endpoint does not see which it is.
      const head = [
        ...['user-agent', 'Postrider/1', 'accept-encoding', 'identity'],
        ...['content-type', 'application/json', 'service-event-id', 'evt_1'],
        ...['content-length', String(body.length), 'Host', `127.0.0.1:${receiver.port}`],
        ...['Connection', 'keep-alive'],
      ];
      expect(request?.rawHeaders).toEqual(head);
    });

    test('is made by the client that was chosen', async () => {
      const made: object[] = [];
      const note = (message: unknown) => void made.push((message as { request: object }).request);
      subscribe('http.client.request.start', note);
      fixture.atEnd(() => unsubscribe('http.client.request.start', note));
      await post(fixture.createClient());
      // got measures how long a request takes, and keeps it there.
      expect(made.map((request) => 'timings' in request)).toEqual([fixture.httpClient === 'got']);
    });

    test('keeps the query of the endpoint', async () => {
      await post(fixture.createClient(), receiver.url('/hook?a=1&b=%2f'));
      expect(receiver.requests[0]?.path).toBe('/hook?a=1&b=%2f');
    });

    test('with a header that cannot be sent is our own fault: it rejects', async () => {
      const unusable = fixture.createClient().post({
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
      [
        '100 before it',
        raw('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
        200,
      ],
      [
        '32 interim heads before it',
        raw(`${'HTTP/1.1 103 Early\r\n\r\n'.repeat(32)}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`),
        200,
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
      ['a folded header', raw('HTTP/1.1 200 OK\r\nX-Note: one\r\n two\r\ncontent-length: 0\r\n\r\n'), 200],
      ['a folded header of a 410', raw('HTTP/1.1 410 Gone\r\nx: a\r\n\tb\r\ncontent-length: 0\r\n\r\n'), 410],
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
        const client = fixture.createClient();
        expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 101 });
        await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be closed' });
        expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 200 });
      },
    );

    test.each(cases)('%s', async (_, behaviour, statusCode) => {
      receiver.script('/hook', [behaviour]);
      expect(await post(fixture.createClient())).toMatchObject({ kind: 'answered', statusCode });
      expect(receiver.requests).toHaveLength(1);
    });

    test.each([200, 500])('an endless body under status %d is cut after 16 KiB', async (status) => {
      receiver.script('/hook', [endlessBody(status)]);
      const timeoutMs = 600_000; // at its deadline, a client cuts it too
      expect(await post(fixture.createClient({ timeoutMs }))).toMatchObject({ statusCode: status });
      await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be closed' });
    });

    test.each([200, 500])('a dripping body under status %d is cut at the deadline', async (status) => {
      receiver.script('/hook', [dripBody(status)]);
      expect(await post(fixture.createClient({ timeoutMs: 1_500 }))).toMatchObject({
        kind: 'answered',
        statusCode: status,
      });
      await waitFor(() => receiver.openSockets === 0, { what: 'every connection to be closed' });
    });
  });

  describe('what is kept of the body', () => {
    test('is all of a short one', async () => {
      receiver.script('/hook', [answer(500, { body: 'boom' })]);
      expect(await post(fixture.createClient())).toEqual({
        kind: 'answered',
        statusCode: 500,
        excerpt: Buffer.from('boom'),
      });
    });

    test('is the first KiB of a longer one', async () => {
      const long = Buffer.from('0123456789abcdef'.repeat(512));
      receiver.script('/hook', [answer(500, { body: long })]);
      const excerpt = Buffer.from(long.subarray(0, 1024));
      expect(await post(fixture.createClient())).toEqual({ kind: 'answered', statusCode: 500, excerpt });
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
      [
        'a length beside chunks',
        raw('HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'),
        'malformed response',
      ],
      ['header bomb', headerBomb(), 'response head larger than 16384 bytes'],
      ['endless head', endlessHead(), 'response head larger than 16384 bytes'],
      ['flood of 100', interimFlood(100), 'more than 32 interim responses'],
      ['flood of 103', interimFlood(103), 'more than 32 interim responses'],
    ];

    test.each(cases)('%s', async (_, behaviour, error) => {
      receiver.script('/hook', [behaviour]);
      const answered = await post(fixture.createClient());
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
      expect(await post(fixture.createClient({ timeoutMs: 300 }))).toEqual(timedOut);
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
    expect(await post(fixture.createClient({ timeoutMs }))).toMatchObject({
      kind: 'answered',
      statusCode: 200,
    });
  });

  describe('a closed client', () => {
    test('takes no attempt', async () => {
      const client = fixture.createClient();
      client.close();
      await expect(post(client)).rejects.toThrow('the endpoint client is closed');
    });

    test('rejects attempts in flight, so that they do not count against the endpoint', async () => {
      const client = fixture.createClient();
      receiver.always('/hook', hang());
      const inFlight = expect(post(client)).rejects.toThrow(
        'the endpoint client was closed during the attempt',
      );
      await receiver.waitForRequests(1);
      client.close();
      await inFlight;
      await waitFor(() => receiver.openSockets === 0, { what: 'every connection to be closed' });
    });

    test('sends nothing again, though the connection had been used before', async () => {
      const client = fixture.createClient();
      receiver.script('/hook', [answer(200), hang()]);
      await post(client);
      const inFlight = expect(post(client)).rejects.toThrow('closed during the attempt');
      await receiver.waitForRequests(2);
      client.close();
      await inFlight;
      await waitFor(() => receiver.openSockets === 0, { what: 'every connection to be closed' });
      expect(receiver.requests).toHaveLength(2);
    });
  });
});

function exactly(text: string): RegExp {
  return new RegExp(`^${text.replace(/[()]/g, '\\$&')}$`);
}
