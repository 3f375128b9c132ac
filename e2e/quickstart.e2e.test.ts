import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { isRunning } from '@postrider/embedded';
import { parseEvent } from '@postrider/receiver';
import { forEveryProcess, listen, runNode, startTcpListener, waitFor, withClient } from '@postrider/testing';
import { fetchAgainOn429 } from './call-api.ts';
import { signIn } from './sign-in.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
jest.setTimeout(300_000); // three starts, of which the first may have to build

/** The longest wait for a start of the whole system on a busy machine. */
const START = { timeoutMs: 90_000, what: 'npm start' };

/** The tests share it, because a new Postgres and its migrations take seconds. */
let dataDir: string;
let started: Start[] = [];
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'postrider-quickstart-'));
  chmodSync(dataDir, 0o755); // the embedded Postgres may run as another user
});
afterEach(async () => {
  for (const start of started) start.kill('SIGTERM');
  for (const start of started) await start.ended;
  started = [];
  await stopWhatWasLeft();
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

interface Start {
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  output(): string;
  errors(): string;
  kill(signal: NodeJS.Signals): void;
}

/** `npm start`, on ports that are free. */
function npmStart(env: Readonly<Record<string, string>> = {}, ...args: string[]): Start {
  const child = spawn(process.execPath, ['scripts/start.mjs', ...args], {
    cwd: ROOT,
    env: {
      ...forEveryProcess(),
      HOME: process.env['HOME'],
      POSTRIDER_DATA_DIR: dataDir,
      PORT: '0',
      METRICS_PORT: '0',
      CONSOLE_PORT: '0',
      INBOUND_SMTP_PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Record<'out' | 'err', string[]> = { out: [], err: [] };
  child.stdout.on('data', (chunk: Buffer) => chunks.out.push(chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => chunks.err.push(chunk.toString('utf8')));
  const start: Start = {
    ended: new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal }))),
    output: () => chunks.out.join(''),
    errors: () => chunks.err.join(''),
    kill: (signal) => child.kill(signal),
  };
  started.push(start);
  return start;
}

/** The words that `npm start` prints about the system. */
interface Shown {
  readonly api: string;
  readonly key: string;
  readonly account: string;
  readonly webhook: string;
  readonly email: string;
}

async function untilShown(start: Start): Promise<Shown> {
  await waitFor(() => start.output().includes('Ctrl-C stops everything'), START).catch((cause: unknown) => {
    throw new Error(`npm start shows no last line:\n${start.output()}${start.errors()}`, { cause });
  });
  const found = (pattern: RegExp) => pattern.exec(start.output())?.[1] ?? '';
  return {
    api: found(/^ +API +(\S+)$/m),
    key: found(/^ +key +(pr_live_\S+)$/m),
    account: found(/^ +account +(acct_\S+)$/m),
    webhook: found(/webhook (wh_\S+) to https:/),
    email: found(/mail (em_\S+) is stored/),
  };
}

/** The content of `running.json`. */
interface Running {
  readonly postgres: { readonly pid: number; readonly url: string };
  readonly children: Readonly<Record<'all', { readonly pid: number }>>;
}

const runningFile = () => join(dataDir, 'running.json');
const running = () => JSON.parse(readFileSync(runningFile(), 'utf8')) as Running;
const pidsOf = ({ postgres, children }: Running) => [
  postgres.pid,
  ...Object.values(children).map(({ pid }) => pid),
];

/** A failed test may leave the detached Postgres of its data directory running. */
async function stopWhatWasLeft(): Promise<void> {
  if (!existsSync(runningFile())) return;
  const left = pidsOf(running()).filter(isRunning);
  for (const pid of left) process.kill(pid, 'SIGINT');
  await waitFor(() => !left.some(isRunning), { what: 'the end of what was left' });
}

/** The lines that the system has logged, as objects. */
const logLines = () =>
  readFileSync(join(dataDir, 'logs', 'all.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

const get = (shown: Shown, path: string) =>
  fetchAgainOn429(`${shown.api}${path}`, { headers: { authorization: `Bearer ${shown.key}` } });

const post = (shown: Shown, path: string, body: object) =>
  fetchAgainOn429(`${shown.api}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shown.key}` },
    body: JSON.stringify(body),
  });

const sendMail = (shown: Shown) =>
  post(shown, '/v1/emails', {
    from: 'a@example.com',
    to: 'bounced@sandbox.postrider.example',
    subject: 's',
    text: 't',
  });

/** Expects `npm start` to print its SMTP message and the reply, and the API to list both in one thread. */
async function expectReplyInThread(start: Start, shown: Shown): Promise<void> {
  expect(start.output()).toMatch(/^\[demo\] SMTP \S+ took a message for support@\S+: 250 /m);
  expect(start.output()).toMatch(/signed message\.received evt_\S+ arrived, signature verified/);
  const [, reply, thread] =
    /reply (em_\S+) \("[^"\n]+"\) is queued, message 2 of thread (\S+)$/m.exec(start.output()) ?? [];
  const path = `/v1/inboxes/support@inbound.postrider.example/threads/${thread}/emails`;
  const { data } = (await (await get(shown, path)).json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual([reply, expect.stringMatching(/^msg_/)]);
}

/** Expects the printed key to open the console, and the account to be there. */
async function expectConsoleOpens(start: Start, shown: Shown): Promise<void> {
  const [, url = ''] = /^ +console +(http:\S+)$/m.exec(start.output()) ?? [];
  const [, key = ''] = /^ +sign in +(pr_console_\S+)$/m.exec(start.output()) ?? [];
  const open = await signIn(url, key);
  const page = await open(`/accounts/${shown.account}`);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain(shown.webhook.slice(-7));
}

/** Expects a crash of the machine to lose nothing that Postgres has confirmed. */
async function expectPostgresKeepsCommits(): Promise<void> {
  const { rows } = await withClient(running().postgres.url, (client) => client.query('show fsync'));
  expect(rows).toEqual([{ fsync: 'on' }]);
}

/** Expects a second start of the same data to be refused, and the first start to go on. */
async function expectRefusedBeside(shown: Shown): Promise<void> {
  const beside = npmStart();
  expect((await beside.ended).code).toBe(1);
  expect(beside.errors()).toMatch(/^postrider: [^\n]+ is using \S+ already; stop it first\n$/);
  expect((await get(shown, '/v1/webhooks')).status).toBe(200);
}

async function expectSystemStartedAgain(start: Start, shown: Shown): Promise<void> {
  process.kill(running().children.all.pid, 'SIGKILL');
  await waitFor(() => start.output().includes('[all] ended with SIGKILL; starting again'), {
    what: 'the line about it',
  });
  const answers = () =>
    get(shown, '/v1/webhooks').then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor(answers, { what: 'the API to answer again' });
  const sent = await sendMail(shown);
  expect(sent.status).toBe(200);
  const { id } = (await sent.json()) as { id: string };
  await waitFor(() => new RegExp(`email\\.bounced evt_\\S+ of ${id}`).test(start.output()), {
    what: 'the bounce from the new process',
    timeoutMs: 60_000,
  });
}

/** The newcomer's own handler. It keeps each request and answers `status`. */
async function startHandler() {
  const handler = { status: 204, requests: [] as { header: string; body: Buffer }[] };
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      handler.requests.push({ header: String(request.headers['service-signature']), body });
      response.writeHead(handler.status).end();
    });
  });
  const { port, close } = await listen(server);
  return Object.assign(handler, { url: `http://localhost:${port}/hook`, close });
}

/** Expects two failed attempts to make a dead letter, and a replay to deliver it. */
async function expectHandlerHeard(
  start: Start,
  shown: Shown,
  handler: Awaited<ReturnType<typeof startHandler>>,
): Promise<void> {
  const secret = /^ +secret +(whsec_\S+)$/m.exec(start.output())?.[1] ?? '';
  handler.status = 500;
  expect((await sendMail(shown)).status).toBe(200);
  const dead =
    /email\.bounced (evt_\S+) to wh_\S+, attempt 2 failed: HTTP 500; dead letter \(attempts_exhausted\)/;
  await waitFor(() => dead.test(start.output()), { what: 'the dead letter', timeoutMs: 60_000 });
  const event = dead.exec(start.output())?.[1];
  const arrivals = () =>
    handler.requests.filter(({ header, body }) => parseEvent({ header, body, secret }).id === event);
  expect(arrivals()).toHaveLength(2);
  handler.status = 204;
  const path = '/v1/webhooks/dead-letters/replay';
  expect((await post(shown, path, { webhook: shown.webhook })).status).toBe(200);
  await waitFor(() => arrivals().length === 3, { what: 'the replay', timeoutMs: 60_000 });
  expect(new Set(arrivals().map(({ body }) => body.toString())).size).toBe(1);
}

async function expectRefusalShown(start: Start, shown: Shown): Promise<void> {
  expect((await post(shown, '/v1/webhooks', { endpoint: 'https://localhost:9443/' })).status).toBe(201);
  await sendMail(shown);
  await waitFor(
    () => /failed: refused name localhost [^\n]+; dead letter \(rejected\)/.test(start.output()),
    {
      what: 'the line about the refused endpoint',
      timeoutMs: 60_000,
    },
  );
}

async function expectCommandLineFinds(shown: Shown): Promise<void> {
  const command = ['scripts/run.mjs', 'cli', 'key', 'list', '--account', shown.account];
  const { code } = await runNode(command, { cwd: ROOT, env: { POSTRIDER_DATA_DIR: dataDir } });
  expect(code).toBe(0);
}

describe('npm start', () => {
  /* One test, because each start of the whole system takes seconds. */
  test('shows the arrival of signed events, and a reply in its thread; Ctrl-C leaves nothing running and keeps the data; with --forward the user’s own handler gets retries, a dead letter and its replay; a second start is refused; the CLI finds the database; after kill -9 its processes end, and the next start takes over its Postgres; a process that dies is started again', async () => {
    const first = npmStart();
    const shown = await untilShown(first);
    expect(first.output()).toMatch(/signed email\.sent evt_\S+ arrived, signature verified/);
    expect(first.output()).toMatch(/^\[demo\] \d+ ms after the commit that recorded the event/m);
    // `npm start` shows warnings. A process that is still starting logs none.
    const early = { level: 'warn', msg: 'not ready', reason: 'starting, or stopping' };
    expect(logLines()).not.toContainEqual(expect.objectContaining(early));
    await expectReplyInThread(first, shown);
    expect((await sendMail(shown)).status).toBe(200);
    await waitFor(() => /email\.bounced evt_\S+ of em_\S+, signature verified/.test(first.output()), {
      what: 'the bounce to arrive',
    });
    expect((await post(shown, '/v1/suppressions', { email: 'bob@b.example' })).status).toBe(201);
    await waitFor(() => /email\.unsubscribed evt_\S+, signature verified/.test(first.output()), {
      what: 'the suppression to arrive',
    });
    expect(Object.keys(running().children)).toEqual(['all']);
    await expectConsoleOpens(first, shown);
    await expectPostgresKeepsCommits();
    const pids = pidsOf(running());
    expect(pids.filter(isRunning)).toEqual(pids);
    first.kill('SIGINT');
    first.kill('SIGTERM'); // npm forwards a Ctrl-C to a child that has got it from the terminal already
    expect(await first.ended).toEqual({ code: 0, signal: null });
    expect(pids.filter(isRunning)).toEqual([]);
    expect(existsSync(runningFile())).toBe(false);

    const handler = await startHandler();
    const second = npmStart({ DELIVERY_RETRY_DELAYS_SECONDS: '0.2' }, '--forward', handler.url);
    const again = await untilShown(second);
    expect(again).toMatchObject({ key: shown.key, account: shown.account, webhook: shown.webhook });
    expect((await get(again, `/v1/emails/${shown.email}`)).status).toBe(200);
    await expectReplyInThread(second, again);
    const { data } = (await (await get(again, '/v1/webhooks')).json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual([shown.webhook]);
    await expectHandlerHeard(second, again, handler);
    await expectRefusalShown(second, again);
    await expectRefusedBeside(again);
    await expectCommandLineFinds(again);
    const killed = running();
    second.kill('SIGKILL');
    await second.ended;
    await handler.close();
    const children = Object.values(killed.children).map(({ pid }) => pid);
    await waitFor(() => !children.some(isRunning), { what: 'its processes to notice' });

    const third = npmStart({ NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' });
    const taken = await untilShown(third);
    expect(taken.account).toBe(shown.account);
    expect(running().postgres.pid).toBe(killed.postgres.pid);
    await expectSystemStartedAgain(third, taken);
    const last = pidsOf(running());
    third.kill('SIGTERM');
    expect(await third.ended).toEqual({ code: 0, signal: null });
    expect(last.filter(isRunning)).toEqual([]);
  });
});

/**
 * Expects a start to be refused in one line. Each start has its own data directory unless `env` names one, so
 * that all can run at the same time.
 * @returns the line
 */
async function refusalOf(env: Readonly<Record<string, string>>): Promise<string> {
  const folder = env['POSTRIDER_DATA_DIR'] ?? join(dataDir, randomUUID());
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  const start = npmStart({ ...env, POSTRIDER_DATA_DIR: folder });
  expect((await start.ended).code).toBe(1);
  expect(existsSync(join(folder, 'running.json'))).toBe(false);
  expect(start.errors()).toMatch(/^postrider[^\n]+\n$/);
  return start.errors();
}

test('npm start refuses a taken port, a file as data directory, a missing Postgres or Redis, a wrong value and production: in one line, with nothing left running', async () => {
  const taken = await startTcpListener();
  const file = join(dataDir, 'file');
  writeFileSync(file, '');
  const [data, port, postgres, redis, value, production] = await Promise.all([
    refusalOf({ POSTRIDER_DATA_DIR: file }),
    refusalOf({ PORT: String(taken.port) }),
    refusalOf({ DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' }),
    refusalOf({ REDIS_URL: 'redis://127.0.0.1:1', POSTRIDER_DATA_DIR: dataDir }), // Postgres runs by then
    refusalOf({ DELIVERY_TIMEOUT_MS: 'soon' }),
    refusalOf({ NODE_ENV: 'production' }),
  ]);
  await taken.close();
  expect(data).toContain(`cannot write below ${file}: ENOTDIR`);
  expect(port).toContain(`port ${taken.port} on 127.0.0.1 is taken`);
  expect(postgres).toContain('connect ECONNREFUSED 127.0.0.1:1 (DATABASE_URL)');
  expect(postgres).not.toContain('secret');
  expect(redis).toContain('cannot start the queue: ');
  expect(redis).toContain('connect ECONNREFUSED 127.0.0.1:1 (REDIS_URL)');
  expect(value).toContain('DELIVERY_TIMEOUT_MS must be');
  expect(production).toContain('NODE_ENV=production');
});
