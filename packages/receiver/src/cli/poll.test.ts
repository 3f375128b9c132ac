import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CLOSED_PORT, listen, waitFor } from '@postrider/testing';
import { runCommand } from '../../test/run-command.ts';
import { verifySignature } from '../index.ts';

const KEY = 'pr_live_of_the_account';

let api: Awaited<ReturnType<typeof listen>>;
/** The subjects of the account's events. A cursor is the number of events before it. */
let events: string[];
let requests: { key: string | undefined; query: Record<string, string> }[];
/** Answers in place of the list, one request each. */
let nextAnswers: ((response: ServerResponse) => void)[];
let stops: (() => Promise<unknown>)[];

const eventOf = (subject: string) => ({ id: `evt_${subject}`, type: 'email.sent', data: { subject } });

function serve(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '', 'http://api/');
  const query = Object.fromEntries(url.searchParams);
  requests.push({ key: request.headers.authorization, query });
  const other = nextAnswers.shift();
  if (other !== undefined) {
    other(response);
    return;
  }
  if (url.pathname !== '/base/v1/events') {
    response.writeHead(404).end('no such path');
    return;
  }
  const from = Number(query['after'] ?? 0);
  const page = events.slice(from, from + 2);
  const body = {
    has_more: from + 2 < events.length,
    next_cursor: String(from + page.length),
    data: page.map(eventOf),
  };
  response.writeHead(200, { Date: 'Thu, 26 Nov 2026 10:00:00 GMT' }).end(JSON.stringify(body));
}

beforeEach(async () => {
  [events, requests, nextAnswers, stops] = [[], [], [], []];
  api = await listen(createServer(serve));
});
afterEach(async () => {
  for (const stop of stops) await stop();
  await api.close();
});

const args = (...more: string[]) => [
  'listen',
  '--api',
  `http://127.0.0.1:${api.port}/base/`,
  '--key',
  KEY,
  ...more,
];

/** `listen` with a key. */
async function started(...more: string[]) {
  const stop = new AbortController();
  const printed: string[] = [];
  const ended = runCommand(args(...more), {
    print: (line) => printed.push(line),
    stop: stop.signal,
    pollMs: 5,
    timeoutMs: 20_000,
  });
  stops.push(async () => {
    stop.abort();
    expect(await ended).toMatchObject({ code: 0, err: '' });
  });
  const out = () => printed.join('\n');
  await waitFor(() => out().includes('waiting for the events of the account'), { what: 'the first answer' });
  const until = (words: string) => waitFor(() => out().includes(words), { what: words });
  return { out, until };
}

test('each event is printed once, in order, over several pages and requests', async () => {
  const { out, until } = await started();
  events.push('a', 'b', 'c', 'd', 'e');
  await until('evt_e: recorded');
  events.push('f');
  await until('evt_f: recorded');
  expect(out().match(/^email\.sent evt_\w+/gm)).toEqual(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `email.sent evt_${name}`),
  );
  expect(out()).toContain('"subject": "f"');
});

test('the key is sent, and the list begins at the time of the API’s own clock', async () => {
  await started();
  const polled = await waitFor(() => requests[1], { what: 'the second request' });
  expect(polled).toEqual({
    key: `Bearer ${KEY}`,
    query: { limit: '100', since: '2026-11-26T10:00:00.000Z' },
  });
});

test('once an event has come, only the cursor is sent: it leaves out none, whatever the time of an event', async () => {
  const { until } = await started();
  await waitFor(() => requests.length > 3, { what: 'requests without an event' });
  const since = '2026-11-26T10:00:00.000Z';
  expect(requests[3]?.query).toEqual({ limit: '100', since, after: '0' });
  events.push('a');
  await until('evt_a: recorded');
  const asked = requests.length;
  const next = await waitFor(() => requests[asked], { what: 'a request after the event' });
  expect(next.query).toEqual({ limit: '100', after: '1' });
});

test('an API that is busy or away later loses nothing, and is named once', async () => {
  const { out, until } = await started();
  nextAnswers.push(
    (response) => response.writeHead(429).end('{"detail":"60 requests a minute"}'),
    (response) => response.writeHead(503).end('{"title":"Not ready"}'),
    (response) => response.destroy(),
    (response) => response.writeHead(200).end('{"has_more":'),
  );
  events.push('a');
  await until('evt_a: recorded');
  expect(out().match(/^waiting: .*/gm)).toEqual([
    expect.stringContaining('answered 429: 60 requests a minute'),
  ]);
});

test.each<[string, (response: ServerResponse) => void, string]>([
  [
    'a refused key',
    (response) => response.writeHead(401).end('{"title":"Bad key"}'),
    'answered 401: Bad key',
  ],
  [
    'a missing scope',
    (response) => response.writeHead(403).end('{"detail":"No scope"}'),
    'answered 403: No scope',
  ],
  ['another server', (response) => response.writeHead(200).end('<p>Hello</p>'), 'does not answer'],
  ['another API', (response) => response.writeHead(200).end('{}'), 'has no list of events'],
  ['a redirect', (response) => response.writeHead(302, { location: '/' }).end(), 'answered 302'],
  [
    'a busy API',
    (response) => response.writeHead(503).end('{"title":"Not ready"}'),
    'answered 503: Not ready',
  ],
])('at the start, %s is one line and exit code 1', async (_what, answer, words) => {
  nextAnswers.push(answer);
  const { code, out, err } = await runCommand(args());
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/^postrider-receiver: [^\n]+$/);
  expect(err).toContain(words);
});

test.each([JSON.stringify({ other: 'x'.repeat(1_000) }), 'x'.repeat(1_000)])(
  'an answer that is no problem document is cut to 200 characters',
  async (answer) => {
    nextAnswers.push((response) => response.writeHead(401).end(answer));
    const { err } = await runCommand(args());
    expect(err.split('answered 401: ')[1]).toBe(answer.slice(0, 200));
  },
);

test('a key that is revoked later ends it with one line', async () => {
  const stop = new AbortController();
  const printed: string[] = [];
  const io = { print: (line: string) => printed.push(line), stop: stop.signal, pollMs: 5 };
  const ended = runCommand(args(), io);
  await waitFor(() => printed.length > 0, { what: 'the first answer' });
  nextAnswers.push((response) => response.writeHead(401).end('{"title":"Bad key"}'));
  expect(await ended).toMatchObject({ code: 1, err: expect.stringMatching(/answered 401: Bad key$/) });
});

test('an API that is away at the start is one line and exit code 1', async () => {
  const away = ['listen', '--api', `http://127.0.0.1:${CLOSED_PORT}`, '--key', KEY];
  expect(await runCommand(away)).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(
      /^postrider-receiver: http:\/\/127\.0\.0\.1:\d+ does not answer: .*ECONNREFUSED/,
    ),
  });
});

test('a handler gets each event signed, and a failure of the handler stops nothing', async () => {
  const bodies: string[] = [];
  const secret = 'whsec_of_the_handler';
  const handler = await listen(
    createServer((request, response) => {
      void text(request).then((body) => {
        bodies.push(body);
        verifySignature({ header: request.headers['service-signature'], body, secret });
        if (bodies.length === 2) response.destroy();
        else response.writeHead(204).end();
      });
    }),
  );
  stops.push(() => handler.close());
  const url = `http://127.0.0.1:${handler.port}/hooks`;
  const { until } = await started('--secret', secret, '--forward', url);
  events.push('a', 'b', 'c');
  await until('evt_a: answered 204');
  await until(`evt_b: ${url} does not answer: socket hang up`);
  await until('evt_c: answered 204');
  expect(bodies).toEqual(['a', 'b', 'c'].map((subject) => JSON.stringify(eventOf(subject))));
});
