import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { signatureHeader } from '@postrider/domain';
import { listen, testWithLoopbackNetwork, waitFor } from '@postrider/testing';
import { runCommand } from '../../test/run-command.ts';
import type { EndedCommand } from '../../test/run-command.ts';
import { verifySignature } from '../verify-signature.ts';

const SECRET = 'whsec_of_the_webhook';
const BODY = JSON.stringify({ id: 'evt_1', type: 'email.sent', data: { subject: 'Grüße' } });

let stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
});

/** `listen` on a free port. */
async function started(...more: string[]) {
  const [stop, printed]: [AbortController, string[]] = [new AbortController(), []];
  const ended = runCommand(['listen', '--port', '0', ...more], {
    print: (line) => printed.push(line),
    stop: stop.signal,
  });
  stops.push(async () => {
    stop.abort();
    expect(await ended).toMatchObject({ code: 0, err: '' });
  });
  const out = () => printed.join('\n');
  const url = await waitFor(() => /listening on (\S+?)(,|$)/m.exec(out())?.[1], { what: 'listen to start' });
  return { url, out };
}

/** Resolves with the head of the answer. */
async function signedPost(url: string, body = BODY, secret = SECRET): Promise<Response> {
  const header = signatureHeader(secret, Buffer.from(body), new Date());
  return fetch(url, { method: 'POST', body, headers: { 'Service-Signature': header } });
}

async function post(url: string, body = BODY, secret = SECRET): Promise<string> {
  const answer = await signedPost(url, body, secret);
  return `${answer.status} ${await answer.text()}`.trim();
}

/** A customer's handler. It keeps the headers and bodies that it gets. */
async function startHandler(answer: (response: ServerResponse) => void) {
  const requests: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const handler = await listen(
    createServer((request, response) => {
      void text(request).then((body) => {
        requests.push({ headers: request.headers, body });
        answer(response);
      });
    }),
  );
  stops.push(() => handler.close());
  return { requests, url: `http://127.0.0.1:${handler.port}/hooks`, close: () => handler.close() };
}

test('what `send` posts is verified, answered 204 and printed, without any account', async () => {
  const { url, out } = await started();
  const secret = /^secret (whsec_\S+)$/m.exec(out())?.[1] ?? '';
  expect(out()).toContain(`send --type email.bounced --to ${url} --secret ${secret}`);
  const sent: EndedCommand = await runCommand([
    'send',
    '--type',
    'message.held',
    '--to',
    url,
    '--secret',
    secret,
  ]);
  expect(sent).toMatchObject({ code: 0, err: '' });
  const id = /evt_\w+/.exec(sent.out)?.[0] ?? '';
  expect(out()).toContain(`\nmessage.held ${id}: verified, answered 204\n{\n  "id": "${id}",`);
  expect(out()).toContain('"held_reason": "auth_failed"');
});

test('two starts have two secrets', async () => {
  const secretOf = ({ out }: { out: () => string }) => /^secret (\S+)$/m.exec(out())?.[1];
  expect(secretOf(await started())).not.toBe(secretOf(await started()));
});

test('an event that came before is marked', async () => {
  const { url, out } = await started('--secret', SECRET);
  expect([await post(url), await post(url)]).toEqual(['204', '204']);
  expect(out().match(/evt_1: .*/g)).toEqual([
    'evt_1: verified, answered 204',
    'evt_1: verified, seen before, answered 204',
  ]);
});

test('a request that is not a signed event is refused and printed with its reason', async () => {
  const { url, out } = await started('--secret', SECRET);
  expect(await post(url, BODY, 'whsec_other')).toMatch(/^400 no-match: /);
  expect(await post(url, 'words')).toBe('400 signed, but the body is no JSON');
  for (const body of ['null', '1', '[]', '{"id":1}'])
    expect(await post(url, body)).toBe('400 signed, but the body is no event');
  expect(await post(url, ' '.repeat(1_048_577))).toBe('413 the body is larger than 1048576 bytes');
  const get = await fetch(url);
  expect([get.status, await get.text()]).toEqual([405, 'a GET is no event\n']);
  const bare = await fetch(url, { method: 'POST', body: BODY });
  expect([bare.status, await bare.text()]).toEqual([400, expect.stringMatching(/^no-header: /)]);
  expect(out().match(/^refused, answered \d+: \S.*$/gm)).toHaveLength(9);
  expect(out()).not.toContain('verified');
});

test('what a stranger wrote cannot steer the terminal', async () => {
  const { url, out } = await started('--secret', SECRET);
  await post(
    url,
    JSON.stringify({ id: 'evt_1', type: 'x', data: { subject: '\u001b[2J\u009b31m\u202eabc\u200b' } }),
  );
  expect(out()).toContain('"\\u001b[2J\\u009b31m\\u202eabc\\u200b"');
});

test('the prefix that the operator has set names the header', async () => {
  const { url, out } = await started('--secret', SECRET, '--header-prefix', 'Acme');
  expect(out()).toMatch(/^try: .* --header-prefix Acme$/m);
  expect(await post(url)).toMatch(/^400 no-header/);
  const headers = { 'acme-signature': signatureHeader(SECRET, Buffer.from(BODY), new Date()) };
  expect((await fetch(url, { method: 'POST', body: BODY, headers })).status).toBe(204);
});

test('a port that is taken is one line and exit code 1', async () => {
  const { url } = await started();
  const { port } = new URL(url);
  const words = `postrider-receiver: port ${port} is taken: choose another with --port`;
  expect(await runCommand(['listen', '--port', port])).toEqual({ code: 1, out: '', err: words });
});

testWithLoopbackNetwork('no other address of this machine answers', async () => {
  const { url } = await started();
  await expect(fetch(url.replace('127.0.0.1', '127.0.0.2'))).rejects.toMatchObject({
    cause: { code: 'ECONNREFUSED' },
  });
});

describe('with --forward', () => {
  test('a verified event reaches the handler, which can verify it, and the answer is the handler’s', async () => {
    const handler = await startHandler((response) => response.writeHead(503).end('busy'));
    const { url, out } = await started('--secret', SECRET, '--forward', handler.url);
    expect(await post(url)).toBe('503 busy');
    expect(handler.requests.map(({ body }) => body)).toEqual([BODY]);
    for (const { headers, body } of handler.requests)
      verifySignature({ header: headers['service-signature'], body, secret: SECRET });
    await waitFor(() => out().includes('evt_1: verified, answered 503'), { what: 'the event to be printed' });
  });

  test('the sender gets the head of the handler’s answer before its body', async () => {
    let held: ServerResponse | undefined;
    const handler = await startHandler((response) => {
      held = response.writeHead(200);
      response.flushHeaders();
    });
    const { url } = await started('--secret', SECRET, '--forward', handler.url);
    const answer = await signedPost(url);
    expect(answer.status).toBe(200);
    held?.end('done');
    expect(await answer.text()).toBe('done');
  });

  test('a handler that resets its connection after the head is named, and the next event is passed on', async () => {
    let held: ServerResponse | undefined;
    const handler = await startHandler((response) => {
      held = response.writeHead(200);
      response.write('d');
    });
    const { url, out } = await started('--secret', SECRET, '--forward', handler.url);
    const broken = await signedPost(url);
    held?.socket?.resetAndDestroy();
    await expect(broken.text()).rejects.toThrow('terminated');
    const words = `evt_1: verified, ${handler.url} does not answer: `;
    await waitFor(() => out().includes(words), { what: 'the fault to be printed' });
    expect((await signedPost(url)).status).toBe(200);
  });

  test('a forged request is not passed on', async () => {
    const handler = await startHandler((response) => response.end());
    const { url } = await started('--secret', SECRET, '--forward', handler.url);
    expect(await post(url, BODY, 'whsec_other')).toMatch(/^400 no-match/);
    expect(handler.requests).toEqual([]);
  });

  test('a handler that is away is named, and the answer is 502', async () => {
    const { url, out } = await started('--secret', SECRET, '--forward', 'http://127.0.0.1:1/hooks');
    expect(await post(url)).toMatch(/^502 http:\/\/127\.0\.0\.1:1\/hooks does not answer: .*ECONNREFUSED/);
    await waitFor(() => out().includes('evt_1: verified, http://127.0.0.1:1/hooks does not answer'), {
      what: 'the fault to be printed',
    });
  });
});
