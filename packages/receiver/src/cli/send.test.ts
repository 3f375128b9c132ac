import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { EVENT_TYPES } from '@postrider/domain';
import { listen, setup } from '@postrider/testing';
import { runCommand } from '../../test/run-command.ts';
import { parseEvent, SignatureVerificationError } from '../index.ts';

const SECRET = 'whsec_of_the_handler';

interface Seen {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let seen: Seen[] = [];
let answer: (response: ServerResponse) => void;
beforeEach(() => {
  seen = [];
  answer = (response) => response.writeHead(204).end();
});

const handler = setup(
  () =>
    listen(
      createServer((request, response) => {
        void text(request).then((body) => {
          seen.push({ headers: request.headers, body });
          answer(response);
        });
      }),
    ),
  ({ close }) => close(),
);

const send = (...more: string[]) => sendWithin(20_000, ...more);
const sendWithin = (timeoutMs: number, ...more: string[]) => {
  const to = `http://127.0.0.1:${handler.port}/hooks`;
  return runCommand(['send', '--type', 'email.bounced', '--to', to, '--secret', SECRET, ...more], {
    timeoutMs,
  });
};
const answering = (status: number, body = '', headers = {}) => {
  answer = (response) => response.writeHead(status, headers).end(body);
};

/** `accepted`, or the reason of the refusal. */
function verdict({ headers, body }: Seen): string {
  try {
    parseEvent({ header: headers['service-signature'], body, secret: SECRET });
    return 'accepted';
  } catch (error) {
    if (error instanceof SignatureVerificationError) return error.reason;
    throw error;
  }
}

describe('a sample', () => {
  test.each(EVENT_TYPES)('of %s arrives signed, with the headers of a delivery', async (type) => {
    const to = `http://127.0.0.1:${handler.port}/`;
    const env = { POSTRIDER_WEBHOOK_SECRET: SECRET };
    const { code, out, err } = await runCommand(['send', '--type', type, '--to', to], { env });
    expect({ code, err, verdicts: seen.map(verdict) }).toEqual({ code: 0, err: '', verdicts: ['accepted'] });
    const [{ headers, body } = { headers: {}, body: '' }] = seen;
    const event = JSON.parse(body) as { id: string; type: string };
    expect(event.type).toBe(type);
    expect(headers).toMatchObject({
      ...{ 'content-type': 'application/json', 'accept-encoding': 'identity', 'user-agent': 'Postrider/1' },
      ...{ 'service-event-id': event.id, 'service-event-type': type },
    });
    expect(out).toBe(`${type} ${event.id}: answered 204: taken, no further attempts`);
  });

  test('has the prefix that the operator has set', async () => {
    await send('--header-prefix', 'Acme');
    expect(Object.keys(seen[0]?.headers ?? {}).filter((name) => /service|acme/.test(name))).toEqual([
      ...['acme-signature', 'acme-event-id', 'acme-event-type'],
    ]);
  });

  test('is posted twice with --twice: the same bytes and id, and two valid signatures', async () => {
    const { code, out } = await send('--twice');
    expect({ code, verdicts: seen.map(verdict) }).toEqual({ code: 0, verdicts: ['accepted', 'accepted'] });
    expect(seen[0]?.body).toBe(seen[1]?.body);
    expect(out.split('\n')).toHaveLength(2);
  });

  test('is new each time', async () => {
    await send();
    await send();
    expect(seen[0]?.headers['service-event-id']).not.toBe(seen[1]?.headers['service-event-id']);
  });
});

describe('the exit code and the words say what Postrider would do', () => {
  test.each<[number, number, string]>([
    [200, 0, 'taken, no further attempts'],
    [299, 0, 'taken, no further attempts'],
    [302, 1, 'Postrider would try again after 30 s'],
    [400, 1, 'Postrider would try again after 30 s'],
    [410, 1, 'a dead letter at once'],
    [500, 1, 'Postrider would try again after 30 s'],
  ])('after %d', async (status, code, words) => {
    answering(status, '', { location: '/elsewhere' });
    expect(await send()).toEqual({ code, err: '', out: expect.stringContaining(`${status}: ${words}`) });
    expect(seen).toHaveLength(1); // a redirect is not followed
  });

  test('after a body without an end, by the status alone', async () => {
    answer = (response) => response.writeHead(200).write('O');
    expect(await sendWithin(2_000)).toEqual({ code: 0, err: '', out: expect.stringContaining('200: taken') });
  });

  test('after a connection that was reset in the body, by the status alone', async () => {
    answer = (response) => response.writeHead(200).write('O', () => response.socket?.resetAndDestroy());
    expect(await send()).toEqual({ code: 0, err: '', out: expect.stringContaining('200: taken') });
  });

  test('and shows the beginning of a failure, without control characters', async () => {
    answering(500, `Error: no table\n\u001b[2J\u009b31m${'x'.repeat(5_000)}`);
    const { out } = await send();
    expect(out).toContain('\n  Error: no table \\u001b[2J\\u009b31mxxx');
    expect(out.length).toBeLessThan(1_300);
  });

  test('a handler that is away, breaks off or never answers: one line', async () => {
    answer = (response) => response.destroy();
    expect(await send()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/does not answer: socket hang up$/),
    });
    answer = () => undefined;
    expect(await sendWithin(300)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no answer within 0.3 s$/),
    });
    const away = ['send', '--type', 'email.sent', '--to', 'http://localhost:1/', '--secret', SECRET];
    expect(await runCommand(away)).toMatchObject({ code: 1, err: expect.stringContaining('ECONNREFUSED') });
  });
});

describe.each([
  ['--wrong-signature', 'no-match'],
  ['--late', 'timestamp-outside-window'],
])('with %s the handler has to refuse', (option, reason) => {
  test.each<[number, number, string]>([
    [400, 0, 'refused, as it should be'],
    [401, 0, 'refused, as it should be'],
    [204, 1, 'taken, although the handler should refuse it'],
    [500, 1, 'the handler should refuse it with a 4xx'],
  ])('%d', async (status, code, words) => {
    answering(status);
    expect(await send(option)).toEqual({ code, err: '', out: expect.stringContaining(words) });
    expect(seen.map(verdict)).toEqual([reason]);
  });
});

test('each answer counts: taken once and refused once is a failure', async () => {
  let answers = 0;
  answer = (response) => response.writeHead((answers += 1) === 1 ? 204 : 409).end();
  expect((await send('--twice')).code).toBe(1);
});
