import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { ApiKey, InboxStore, MessageStore, RecoveryStore } from '@postrider/store';
import { noSuch, unauthorized } from '../problems/answers.ts';
import type { RouteStores } from '../stores.ts';
import { getEmailMetrics } from './email-metrics.ts';
import { forward } from './forwards.ts';
import { inboxRoutes } from './inboxes.ts';
import { getMessageBody } from './message-body.ts';
import { recoveryRoutes } from './recoveries.ts';
import type { Documented, KeyedRoute, RouteRequest } from './route.ts';
import { searchThreads } from './thread-search.ts';
import { threadRoutes } from './threads.ts';

/* Routes that do few requests at a time. The others wait in the process, for as long as these take. */

/** What a route does in its slot. It never succeeds, because no test needs its result. */
type Work = () => Promise<never>;

const EMAIL = newId('email', systemClock);
/** The noun of what a look-up finds no more. */
let deleted: string;
beforeEach(() => {
  deleted = '';
});

function threadStores(work: Work): RouteStores {
  const threads = {
    search: work,
    list: work,
    mark: work,
    remove: work,
    find: async () => (deleted === 'thread' ? null : {}),
    email: async () => ({ id: EMAIL, html: null, text: null }),
  };
  const inboxes = { identify: async () => (deleted === 'inbox' ? null : { id: 'inb' }) };
  return { inboxes, threads } as unknown as RouteStores;
}

/** The operations that share slots. A request goes to each of them in turn. */
function inTurn(routes: readonly Documented[], ...operations: string[]): Documented<KeyedRoute> {
  const found = operations.map((id) => routes.find(({ docs }) => docs.operationId === id));
  const handles = (found as Documented<KeyedRoute>[]).map(({ handle }) => handle);
  const [first] = found;
  let asked = 0;
  return {
    ...(first as Documented<KeyedRoute>),
    async handle(request) {
      const handle = handles[asked % handles.length] as KeyedRoute['handle'];
      asked += 1;
      return handle({ ...request, body: { read: true } });
    },
  };
}

const ROUTES: readonly [name: string, make: (work: Work) => Documented<KeyedRoute>][] = [
  [
    'inboxes.list and get',
    (work) => {
      const inboxes = { list: work, find: work } as unknown as InboxStore;
      return inTurn(inboxRoutes(inboxes), 'listInboxes', 'getInbox');
    },
  ],
  ['threads.list', (work) => inTurn(threadRoutes(threadStores(work)), 'listThreads')],
  [
    'threads.update and delete',
    (work) => inTurn(threadRoutes(threadStores(work)), 'updateThread', 'deleteThread'),
  ],
  ['threads.search', (work) => searchThreads(threadStores(work))],
  ['emails.metrics', (work) => getEmailMetrics({ count: work }, systemClock)],
  [
    'threads.emails.forward',
    (work) => {
      const stores = { ...threadStores(work), emails: { attachments: work }, messages: {} };
      const none = undefined as never;
      const route = forward(stores as unknown as RouteStores, none, none);
      return { ...route, handle: (request) => route.handle({ ...request, body: { to: 'a@a.example' } }) };
    },
  ],
  [
    'webhooks.recover',
    (work) => {
      const [route] = recoveryRoutes({ start: work } as unknown as RecoveryStore);
      return route as Documented<KeyedRoute>;
    },
  ],
  [
    'a body of received mail',
    (work) => {
      const find = async (key: ApiKey) => ({ id: 'msg', accountId: key.accountId, status: 'received' });
      const messages = { find, bodySize: async () => 9, bodyPiece: work } as unknown as MessageStore;
      const route = getMessageBody(messages);
      const id = newId('message', systemClock);
      const query = new URLSearchParams('part=text');
      return { ...route, handle: async (request) => read(await route.handle({ ...request, id, query })) };
    },
  ],
];

function routeNamed(name: string): (work: Work) => Documented<KeyedRoute> {
  const [, make] = ROUTES.find(([each]) => each === name) ?? [];
  if (make === undefined) throw new Error(`no route ${name}`);
  return make;
}

/** Reads the file of an answer to its end. */
async function read(answer: Awaited<ReturnType<KeyedRoute['handle']>>) {
  if (answer.kind === 'file' && answer.stream !== null) await buffer(answer.stream);
  return answer;
}

function newClient(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

function requestOf(recheckKey: RouteRequest['recheckKey'], client = newClient()): RouteRequest {
  const thread = newId('thread', systemClock);
  return {
    key: { kind: 'live', scopes: [], accountId: newId('account', systemClock) } as unknown as ApiKey,
    id: newId('webhook', systemClock),
    params: { thread, email: EMAIL },
    origin: 'https://api.test',
    query: new URLSearchParams(),
    headers: {},
    body: { since: '2026-01-01T00:00:00Z' },
    requestId: 'req_1',
    recheckKey,
    client,
  };
}

describe.each(ROUTES)('%s', (_, make) => {
  /** Sends a request while those of two other accounts are in flight, and then ends these. */
  async function afterWait(recheckKey: RouteRequest['recheckKey']) {
    const gate = Promise.withResolvers<never>();
    let begun = 0;
    const work: Work = () => {
      begun += 1;
      return gate.promise;
    };
    const route = make(work);
    const send = (recheck: RouteRequest['recheckKey']) => route.handle(requestOf(recheck));
    const good = async () => null;
    const first = Promise.allSettled([send(good), send(good)]);
    await setImmediate();
    expect(begun).toBe(2);
    const waiting = Promise.allSettled([send(recheckKey)]);
    await setImmediate();
    expect(begun).toBe(2);
    gate.reject(new Error('ended'));
    await first;
    const [outcome] = await waiting;
    return { outcome, begun };
  }

  test('a request whose key was revoked while it waited is refused', async () => {
    const { outcome, begun } = await afterWait(async () => unauthorized);
    expect(begun).toBe(2);
    if (outcome.status === 'fulfilled') expect(outcome.value).toEqual(unauthorized);
    else expect(outcome.reason).toEqual(new Error('the key was refused meanwhile'));
  });

  test('a request whose key is still good is served after its wait', async () => {
    const { outcome, begun } = await afterWait(async () => null);
    expect([begun, outcome.status]).toEqual([3, 'rejected']);
  });
});

test.each(ROUTES.filter(([name]) => name !== 'a body of received mail'))(
  '%s: a request whose client leaves while it waits is not served',
  async (_, make) => {
    const gate = Promise.withResolvers<never>();
    let begun = 0;
    const route = make(() => {
      begun += 1;
      return gate.promise;
    });
    const client = newClient();
    const good = async () => null;
    const sent = [requestOf(good), requestOf(good), requestOf(good, client)].map((one) => route.handle(one));
    const all = Promise.allSettled(sent);
    await setImmediate();
    client.emit('close');
    gate.reject(new Error('ended'));
    await all;
    expect(begun).toBe(2);
  },
);

test.each([
  ['threads.update', 'thread', routeNamed('threads.update and delete')],
  ['threads.delete', 'inbox', (work: Work) => inTurn(threadRoutes(threadStores(work)), 'deleteThread')],
  ['threads.emails.forward', 'thread', routeNamed('threads.emails.forward')],
])('%s: a deleted %s reads as missing after the wait', async (_, noun, make) => {
  const gate = Promise.withResolvers<never>();
  const route = make(() => gate.promise);
  const send = () => route.handle(requestOf(async () => null));
  const inFlight = Promise.allSettled([send(), send()]);
  await setImmediate();
  const waiting = send();
  await setImmediate();
  deleted = noun;
  gate.reject(new Error('ended'));
  await inFlight;
  expect(await waiting).toEqual(noSuch(noun));
});

test('a list of threads does not wait for changes of threads', async () => {
  const gate = Promise.withResolvers<never>();
  let begun = 0;
  const routes = threadRoutes(
    threadStores(() => {
      begun += 1;
      return gate.promise;
    }),
  );
  const send = (operation: string) => inTurn(routes, operation).handle(requestOf(async () => null));
  const sent = Promise.allSettled([send('updateThread'), send('deleteThread'), send('listThreads')]);
  await setImmediate();
  expect(begun).toBe(3);
  gate.reject(new Error('ended'));
  await sent;
});
