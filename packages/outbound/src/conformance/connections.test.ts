import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  after,
  answer,
  answerThenResetNext,
  answerUnread,
  type Behaviour,
  closeInsideHead,
  hang,
  resetBeforeHead,
  type ScriptedReceiver,
  waitFor,
} from '@postrider/testing';
import { forEachHttpClient, NAME } from '../../test/client-fixture.ts';
import { startThreadedReceiver, type ThreadedReceiver } from '../../test/threaded-receiver.ts';
import type { EndpointClient } from '../client.ts';
import type { EndpointResult } from '../endpoint-result.ts';

const body = Buffer.from('{"id":"evt_1"}');

const resolveIpv6 = async () => [];

forEachHttpClient((fixture) => {
  let receiver: ScriptedReceiver;

  beforeEach(async () => {
    receiver = await fixture.startReceiver();
  });

  function post(client: EndpointClient, endpoint = receiver.url('/hook')): Promise<EndpointResult> {
    return client.post({ endpoint, body, headers: { 'Service-Event-Id': 'evt_1' } });
  }

  describe('connections', () => {
    test('one serves many attempts', async () => {
      const client = fixture.createClient();
      receiver.script('/hook', [answer(200), answer(500, { body: 'x'.repeat(16_384) }), answer(204)]);
      for (let count = 0; count < 6; count += 1) await post(client);
      expect(receiver.connections).toBe(1);
    });

    describe('when this process reads the answer before it has heard that the request went out', () => {
      let threaded: ThreadedReceiver;

      beforeEach(async () => {
        threaded = await startThreadedReceiver(fixture.authority);
        fixture.atEnd(() => threaded.close());
      });

      /**
       * Makes an attempt, the one with this number. One immediate writes the body. Node reports the end of the
       * write in the next turn of the event loop, after it has read the answer.
       */
      async function postOvertaken(client: EndpointClient, count: number, path = ''): Promise<string> {
        const answered = await new Promise<EndpointResult>((resolve) => {
          setImmediate(() => resolve(post(client, threaded.url() + path)));
          if (count > 1) setImmediate(() => threaded.holdUntilAnswered(count));
        });
        return answered.kind === 'answered' ? answered.excerpt.toString() : answered.kind;
      }

      test('one serves many attempts', async () => {
        const client = fixture.createClient();
        const connectionsSoFar: string[] = [];
        for (let count = 1; count <= 4; count += 1) connectionsSoFar.push(await postOvertaken(client, count));
        expect(connectionsSoFar).toEqual(['1', '1', '1', '1']);
      });

      test('one is not used again after a 101', async () => {
        const client = fixture.createClient();
        await postOvertaken(client, 1);
        await postOvertaken(client, 2, 'switch');
        expect(await postOvertaken(client, 3)).toBe('2');
      });
    });

    test('is not used again after a body over 16 KiB', async () => {
      const client = fixture.createClient();
      receiver.script('/hook', [answer(200, { body: 'x'.repeat(16_385) })]);
      await post(client);
      await post(client);
      expect(receiver.connections).toBe(2);
    });

    test('a pooled connection that turns out dead costs one immediate second request, not the attempt', async () => {
      const client = fixture.createClient();
      receiver.script('/hook', [answerThenResetNext(), answer(202)]);
      await post(client);
      expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 202 });
      expect(receiver.connections).toBe(2);
    });

    test('so it is with one that was handed on to an attempt waiting for a connection', async () => {
      const client = fixture.createClient({ socketsPerHost: 1 });
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      receiver.script('/hook', [after(gate, answerThenResetNext(201)), answer(202)]);
      const answers = Promise.all([post(client), post(client)]);
      await receiver.waitForRequests(1);
      open();
      expect(await answers).toMatchObject([{ statusCode: 201 }, { statusCode: 202 }]);
      expect(receiver.connections).toBe(2);
    });

    test('the second request is the last: a reset on it fails the attempt', async () => {
      const client = fixture.createClient();
      receiver.script('/hook', [answer(200), resetBeforeHead(), resetBeforeHead()]);
      await post(client);
      expect(await post(client)).toMatchObject({ kind: 'failed', cause: 'protocol' });
      expect(receiver.requests).toHaveLength(3);
    });

    test('nor is there a third when the second is handed a connection that dies too', async () => {
      const client = fixture.createClient({ socketsPerHost: 1 });
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      receiver.script('/hook', [after(gate, answerThenResetNext(201)), answerThenResetNext(202)]);
      const answers = Promise.all([post(client), post(client), post(client)]);
      await receiver.waitForRequests(1);
      open();
      // The first connection dies under the second attempt, which queues behind the third and inherits its
      // connection.
      expect(await answers).toMatchObject([{ statusCode: 201 }, { kind: 'failed' }, { statusCode: 202 }]);
    });

    test('the second request goes out on a new connection though another idle one is there', async () => {
      const client = fixture.createClient();
      await openTwo(client);
      receiver.script('/hook', [resetBeforeHead(), answer(202)]);
      expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 202 });
      expect(receiver.requests.at(-1)?.socketId).toBe(3);
    });

    test('a pooled connection that dies after the first byte of an answer fails the attempt: the endpoint had the request', async () => {
      const client = fixture.createClient();
      receiver.script('/hook', [answer(200), closeInsideHead()]);
      await post(client);
      expect(await post(client)).toMatchObject({ kind: 'failed', cause: 'protocol' });
      expect(receiver.requests).toHaveLength(2);
    });

    test('one that is reset while it is idle is not used again', async () => {
      const client = fixture.createClient();
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const answerThenReset: Behaviour = {
        status: 201,
        async play({ response, reset }) {
          response.writeHead(201, { 'content-length': 0 }).end();
          await gate;
          reset();
        },
      };
      receiver.script('/hook', [answerThenReset, answer(202)]);
      expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 201 });
      open();
      await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be reset' });
      expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 202 });
      expect(receiver.requests).toHaveLength(2);
    });

    test('attempts leave no listener on the one that they share', async () => {
      const sockets = new Set<Socket>();
      const note = (message: unknown) => {
        const { socket } = (message as { request: ClientRequest }).request;
        if (socket !== null) sockets.add(socket);
      };
      subscribe('http.client.request.start', note);
      fixture.atEnd(() => unsubscribe('http.client.request.start', note));
      const client = fixture.createClient();
      const listeners = async (): Promise<number[]> => {
        await post(client);
        await nextImmediate(); // for Node to take the connection back
        return [...sockets].map((socket) =>
          socket.eventNames().reduce((count, name) => count + socket.listenerCount(name), 0),
        );
      };
      await post(client);
      const first = await listeners();
      for (let count = 0; count < 20; count += 1) await post(client);
      expect(await listeners()).toEqual(first);
      expect(first).toHaveLength(1);
    });

    test('a reset on a new connection is not retried', async () => {
      receiver.script('/hook', [resetBeforeHead()]);
      expect(await post(fixture.createClient())).toMatchObject({ kind: 'failed' });
      expect(receiver.requests).toHaveLength(1);
    });

    test('the second request is bound by the deadline of the first', async () => {
      const client = fixture.createClient({ timeoutMs: 1_500 });
      receiver.script('/hook', [answer(200), resetBeforeHead(), hang()]);
      await post(client);
      expect(await post(client)).toMatchObject({ kind: 'failed', error: 'timeout after 1500 ms' });
    });

    test('an attempt that timed out on a pooled connection sends nothing again', async () => {
      const client = fixture.createClient({ socketsPerHost: 1, timeoutMs: 2_000 });
      receiver.script('/hook', [answer(200), hang()]);
      await post(client);
      expect(await post(client)).toMatchObject({ kind: 'failed', error: 'timeout after 2000 ms' });
      // There is one connection. A request of the ended attempt would use it before the second of these.
      for (let count = 0; count < 2; count += 1)
        expect(await post(client)).toMatchObject({ statusCode: 200 });
      expect(receiver.requests).toHaveLength(4);
    });

    test('an answer that overtakes a request the endpoint never reads frees the connection', async () => {
      const client = fixture.createClient({ socketsPerHost: 1 });
      receiver.script('/hook', [answerUnread()]);
      const large = Buffer.alloc(32 * 1024 * 1024, ' ');
      const overtaken = await client.post({ endpoint: receiver.url('/hook'), body: large, headers: {} });
      expect(overtaken).toMatchObject({ kind: 'answered', statusCode: 200 });
      expect(await post(client)).toMatchObject({ kind: 'answered', statusCode: 200 });
    });

    test('no more than allowed go to one host, and waiting for one counts against the deadline', async () => {
      const client = fixture.createClient({ socketsPerHost: 2, timeoutMs: 2_000 });
      receiver.always('/hook', hang());
      const posts = Array.from({ length: 10 }, () => post(client));
      await Promise.race(posts);
      expect(receiver.requests).toHaveLength(2);
      const answers = await Promise.all(posts);
      expect(answers.map((one) => 'error' in one && one.error)).toEqual(
        Array(10).fill('timeout after 2000 ms'),
      );
      // On a busy machine, some requests get a slot that another request freed at its time limit a moment
      // before.
      expect(receiver.requests.length).toBeLessThan(10);
    });

    test('an attempt that waited for a connection gets the next free one', async () => {
      const client = fixture.createClient({ socketsPerHost: 1 });
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      receiver.script('/hook', [after(gate, answer(201)), answer(202)]);
      const answers = Promise.all([post(client), post(client)]);
      await receiver.waitForRequests(1);
      open();
      expect(await answers).toMatchObject([{ statusCode: 201 }, { statusCode: 202 }]);
      expect(receiver.connections).toBe(1);
    });

    test('200 attempts that time out leave none behind, and the endpoint is served again', async () => {
      const client = fixture.createClient({ socketsPerHost: 10, timeoutMs: 3_000, idleMs: 100 });
      receiver.always('/hook', hang());
      const answers = await Promise.all(Array.from({ length: 200 }, () => post(client)));
      expect(answers.every((one) => one.kind === 'failed' && one.cause === 'timeout')).toBe(true);
      await waitFor(() => receiver.openSockets === 0, { what: 'every connection to be closed' });
      receiver.always('/hook', answer(200));
      expect(await post(fixture.createClient())).toMatchObject({ kind: 'answered', statusCode: 200 });
      // On a busy machine, a handshake may take longer than the time limit.
      const isServed = async () => (await post(client)).kind === 'answered';
      await waitFor(isServed, { what: 'the endpoint to be served again' });
    });
  });

  describe('the age of a connection', () => {
    const MINUTES_5 = 300_000;
    const IDLE_MS = 12_000;

    test('is five minutes at the most; the next request is made on a new one, and judged', async () => {
      let nowMs = 0;
      let addresses = ['127.0.0.1'];
      const resolver = { resolveIpv6, resolve: async () => addresses };
      const client = fixture.createClient({ resolver, nowMs: () => nowMs });
      const visit = () => post(client, receiver.url('/hook', NAME));
      await visit();
      addresses = ['10.0.0.1'];
      nowMs = MINUTES_5 - IDLE_MS;
      await visit();
      expect(receiver.connections).toBe(1);
      nowMs += 1; // it could wait idle for as long as is left, and serve one more
      expect(await visit()).toMatchObject({ kind: 'answered' });
      const error = `refused address 10.0.0.1 (private), an address of ${NAME}`;
      expect(await visit()).toEqual({ kind: 'refused', error });
      expect(receiver.connections).toBe(1);
    });

    test('ends it, though another attempt waits for one', async () => {
      let nowMs = 0;
      const client = fixture.createClient({ socketsPerHost: 1, nowMs: () => nowMs });
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      receiver.script('/hook', [after(gate, answer(201)), answer(202)]);
      const answers = Promise.all([post(client), post(client)]);
      await receiver.waitForRequests(1);
      nowMs = MINUTES_5;
      open();
      expect(await answers).toMatchObject([{ statusCode: 201 }, { statusCode: 202 }]);
      expect(receiver.connections).toBe(2);
    });
  });

  describe('an idle connection', () => {
    test('is closed after a while', async () => {
      await post(fixture.createClient({ idleMs: 50 }));
      await waitFor(() => receiver.openSockets === 0, { what: 'the idle connection to be closed' });
    });

    test('is not one that waits for a slow answer', async () => {
      const client = fixture.createClient({ idleMs: 30 });
      const otherIsClosed = waitFor(() => receiver.openSockets === 1, {
        what: 'the other connection to be closed',
      });
      receiver.script('/slow', [after(otherIsClosed, answer(201))]);
      const slow = post(client, receiver.url('/slow'));
      await receiver.waitForRequests(1);
      await post(client);
      expect(await slow).toMatchObject({ statusCode: 201 });
    });
  });

  /** Leaves the client with two idle connections to the receiver. */
  async function openTwo(client: EndpointClient): Promise<void> {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    receiver.script('/hook', [after(gate, answer(200)), after(gate, answer(200))]);
    const both = Promise.all([post(client), post(client)]);
    await receiver.waitForRequests(2);
    open();
    await both;
    expect(receiver.openSockets).toBe(2);
  }
});
