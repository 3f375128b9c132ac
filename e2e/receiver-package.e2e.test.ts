import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { envelopeBytes, signatureHeader } from '@postrider/domain';
import type { EventId } from '@postrider/domain';
import { DIST, endsWithUs, runNode, setup, waitFor } from '@postrider/testing';

/* The package for customers, as they get it: packed by npm, installed from the file, without a registry. */

const RECEIVER = fileURLToPath(new URL('../packages/receiver/', import.meta.url));
const MODULES = fileURLToPath(new URL('node_modules/', import.meta.url));
const TYPESCRIPT = fileURLToPath(new URL('../node_modules/typescript7/bin/tsc', import.meta.url));
/** The compiler that @arethetypeswrong brings. Its version is below 5.7, where `Uint8Array` became generic. */
const OLD_TYPESCRIPT = [
  '@arethetypeswrong/cli/package.json',
  '@arethetypeswrong/core',
  'typescript/bin/tsc',
].reduce((from, name) => createRequire(from).resolve(name), import.meta.url);

const installed = setup(install, async ({ folder }) => rmSync(folder, { recursive: true }));

/** Packs the package and installs it in the empty folder `app`. Beside it are the examples and their frameworks. */
async function install(): Promise<{ folder: string; app: string; tarball: string; files: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-receiver-'));
  const app = join(folder, 'app');
  mkdirSync(app);
  write(app, 'package.json', '{ "name": "app", "private": true }');
  const packed = await npm(folder, 'pack', join(DIST, 'receiver'), '--json');
  const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }];
  const tarball = join(folder, filename);
  await npm(app, 'install', '--offline', '--cache', join(folder, 'cache'), '--no-audit', tarball);
  cpSync(join(app, 'node_modules/@postrider/receiver/examples'), app, { recursive: true });
  mkdirSync(join(app, 'node_modules/@hono'));
  for (const name of ['express', 'fastify', 'hono', '@hono/node-server'])
    symlinkSync(realpathSync(join(RECEIVER, 'node_modules', name)), join(app, 'node_modules', name));
  return { folder, app, tarball, files: files.map(({ path }) => path) };
}

// By its address: TypeScript has no types of a script.
const { npmTool } = (await import(new URL('../scripts/setup-command.mjs', import.meta.url).href)) as {
  npmTool: (name: string, args: readonly string[]) => [command: string, args: string[]];
};

/** @returns what npm prints on stdout */
async function npm(cwd: string, ...args: string[]): Promise<string> {
  const [command, commandArgs] = npmTool('npm', args);
  const child = spawn(command, commandArgs, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`npm ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

function write(folder: string, name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Runs a program that is written into the customer's folder. @returns what it prints, as JSON */
async function printed(name: string, content: string): Promise<unknown> {
  const { code, stdout, stderr } = await runNode([write(installed.app, name, content)], {
    cwd: installed.app,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

/** Verifies every vector, and prints the results. */
const VERIFY_ALL = `
const answers = [];
for (const { secret, header, body, now } of vectors) {
  try {
    await verifySignature({ secret, header, body, now: new Date(now * 1000) });
    answers.push('accepted');
  } catch (error) {
    answers.push(error instanceof SignatureVerificationError ? error.reason : String(error));
  }
}
console.log(JSON.stringify(answers));
`;

function expectedResults(): string[] {
  const path = join(installed.app, 'node_modules/@postrider/receiver/vectors.json');
  return (JSON.parse(readFileSync(path, 'utf8')) as { result: string }[]).map(({ result }) => result);
}

describe('the packed file', () => {
  test('is not made of the sources', () => {
    const { scripts } = JSON.parse(readFileSync(join(RECEIVER, 'package.json'), 'utf8')) as {
      scripts: { prepack: string };
    };
    // npm runs this line before it packs, and packs nothing when it fails.
    const { status, stderr } = spawnSync(scripts.prepack, { shell: true, encoding: 'utf8' });
    expect({ status, stderr: stderr.trim() }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/In the root: npm run build, then npm pack \.\/dist\/receiver$/),
    });
  });

  test('has code and types in both formats, and nothing of the workspace', () => {
    const kinds = installed.files.map((path) =>
      path.replace(/^(cjs|esm|examples)\/[\w/-]+\.(d\.ts|m?js)$/, '$1/*.$2'),
    );
    expect([...new Set(kinds)].sort()).toEqual([
      ...['LICENSE', 'README.md', 'cjs/*.d.ts', 'cjs/*.js', 'cjs/package.json'],
      ...['esm/*.d.ts', 'esm/*.js', 'examples/*.mjs', 'package.json', 'vectors.json'],
    ]);
    const path = join(installed.app, 'node_modules/@postrider/receiver/package.json');
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    expect(Object.keys(manifest).filter((key) => /dependencies|scripts|private/i.test(key))).toEqual([]);
  });

  test.each([
    ['publint', ['publint/src/cli.js', 'run', '--strict'], 'All good!'],
    ['@arethetypeswrong/cli', ['@arethetypeswrong/cli/dist/index.js', '--no-color'], 'No problems found'],
  ])('%s finds nothing', async (_tool, [program = '', ...args], words) => {
    const { code, stdout, stderr } = await runNode([join(MODULES, program), ...args, installed.tarball]);
    expect({ code, said: stdout.includes(words) ? words : stdout + stderr }).toEqual({
      code: 0,
      said: words,
    });
  });
});

interface Started {
  /** The lines on stdout so far. */
  readonly output: () => string[];
  readonly stop: () => Promise<void>;
}

/** A program in the customer's folder. It stops with the test. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
  const child = spawn(process.execPath, args, {
    cwd: installed.app,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endsWithUs(child);
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  const stop = async () => {
    const ended = once(child, 'close');
    child.kill();
    await ended;
  };
  return { output: () => stdout.split('\n').slice(0, -1), stop };
}

/** An example of the package, which prints its URL. */
async function startExample(example: string, secret: string): Promise<Started & { url: string }> {
  const started = start(example.split(' '), { PORT: '0', POSTRIDER_WEBHOOK_SECRET: secret });
  const url = await waitFor(() => started.output()[0], { what: `${example} to listen` });
  return { ...started, url };
}

const PROGRAMS = ['express.mjs', 'fastify.mjs', 'on-node.mjs ./hono.mjs', 'on-node.mjs ./fetch.mjs'];

/** Makes the first print of an event throw. In the examples, the print stands for the call of a queue. */
const QUEUE_FAILS_ONCE = `
const { log } = console;
console.error = () => undefined; // the frameworks print the error
console.log = (...words) => {
  if (!words[0].startsWith('email.')) return log(...words);
  console.log = log;
  throw new Error('the queue is away');
};
`;

describe('the examples', () => {
  const SECRET = 'whsec_of_the_examples';
  const event = (id: string) =>
    envelopeBytes({
      ...{ id: id as EventId, type: 'email.sent', subject: 'acct_1', createdAt: new Date() },
      data: '{"email_id":"em_1","from":"a@example.com","subject":"Grüße 🎉","error":null}',
    });

  async function post(url: string, body: Buffer, header: string | null): Promise<string> {
    const headers = {
      'content-type': 'application/json',
      ...(header === null ? {} : { 'service-signature': header }),
    };
    const answer = await fetch(url, { method: 'POST', body: new Uint8Array(body), headers });
    return `${answer.status} ${await answer.text()}`.trim();
  }

  const signed = (url: string, body: Buffer, at = new Date(), secret = SECRET) =>
    post(url, body, signatureHeader(secret, body, at));

  test.each(PROGRAMS)('%s takes each signed event once, and refuses every other request', async (example) => {
    const { url, output, stop } = await startExample(example, SECRET);
    try {
      expect(await signed(url, event('evt_1'))).toBe('204');
      expect(await signed(url, event('evt_2'))).toBe('204');
      expect(await signed(url, event('evt_1'))).toBe('204');
      expect(await signed(url, event('evt_3'), new Date(), 'whsec_other')).toBe('400 no-match');
      expect(await signed(url, event('evt_3'), new Date(Date.now() - 600_000))).toBe(
        '400 timestamp-outside-window',
      );
      expect(await post(url, event('evt_3'), null)).toBe('400 no-header');
      expect(await post(url, event('evt_3'), 'v1=1')).toBe('400 malformed');
      expect(await post(url, Buffer.alloc(0), null)).toBe('400 no-header');
      await waitFor(() => output().length > 2, { what: 'two events to be printed' });
      expect(output().slice(1)).toEqual(['email.sent evt_1', 'email.sent evt_2']);
    } finally {
      await stop();
    }
  });

  test.each(PROGRAMS)(
    '%s answers a 5xx when its queue fails, and the retry adds the job',
    async (example) => {
      write(installed.app, 'queue-fails-once.mjs', QUEUE_FAILS_ONCE);
      const program = `--import ./queue-fails-once.mjs ${example}`;
      const { url, output, stop } = await startExample(program, SECRET);
      try {
        expect(await signed(url, event('evt_1'))).toMatch(/^500/);
        expect(await signed(url, event('evt_1'))).toBe('204');
        expect(await signed(url, event('evt_2'))).toBe('204');
        await waitFor(() => output().includes('email.sent evt_2'), {
          what: 'the second event to be printed',
        });
        expect(output().slice(1)).toEqual(['email.sent evt_1', 'email.sent evt_2']);
      } finally {
        await stop();
      }
    },
  );

  const IN_PROCESS_ENV = `process.env.POSTRIDER_WEBHOOK_SECRET = '${SECRET}';`;

  test.each([
    [
      'in the second argument, without `process`, as Cloudflare Workers pass it',
      'delete globalThis.process;',
      `{ POSTRIDER_WEBHOOK_SECRET: '${SECRET}' }`,
    ],
    ['in the environment, when Bun passes its server', IN_PROCESS_ENV, `{ hostname: 'localhost' }`],
    ['in the environment, when Deno passes the client', IN_PROCESS_ENV, '{ remoteAddr: {} }'],
    ['in the environment, when the request comes alone', IN_PROCESS_ENV, 'undefined'],
  ])('fetch.mjs finds the secret %s', async (_where, prepare, second) => {
    const body = event('evt_1');
    const request = {
      method: 'POST',
      headers: { 'service-signature': signatureHeader(SECRET, body, new Date()) },
      body: body.toString(),
    };
    const program = `
      const { log } = console;
      console.log = () => undefined; // the example prints the event
      ${prepare}
      const { default: handler } = await import('./fetch.mjs');
      const request = new Request('http://localhost/hooks', ${JSON.stringify(request)});
      log((await handler.fetch(request, ${second})).status);`;
    expect(await printed('call-fetch.mjs', program)).toBe(204);
  });
});

describe('the commands, without a network', () => {
  const SECRET = 'whsec_of_the_handler';
  const PROGRAM = 'node_modules/.bin/postrider-receiver';
  const TYPE = ['--type', 'email.bounced', '--secret', SECRET, '--to'];

  test('npx finds them, send posts to a handler, and wrong usage ends with 2', async () => {
    const { url, output, stop } = await startExample('express.mjs', SECRET);
    try {
      const cache = ['--offline', '--cache', join(installed.folder, 'cache')];
      const npx = ['exec', ...cache, '--', '@postrider/receiver'];
      const line = await npm(installed.app, ...npx, 'send', ...TYPE, url);
      expect(line).toMatch(/^email\.bounced evt_\w{26}: answered 204: taken, no further attempts\n$/);
      const printed = await waitFor(() => output()[1], { what: 'the event to be printed' });
      expect(line.startsWith(`${printed}:`)).toBe(true);
      expect(await runNode([PROGRAM, 'send', '--typ'], { cwd: installed.app, env: {} })).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^[^\n]+\n$/),
      });
    } finally {
      await stop();
    }
  });

  test('listen passes what send posts on to a handler', async () => {
    const { url, stop: stopHandler } = await startExample('fastify.mjs', SECRET);
    const listen = start([PROGRAM, 'listen', '--port', '0', '--secret', SECRET, '--forward', url]);
    try {
      const address = await waitFor(() => /^listening on (\S+),/.exec(listen.output()[0] ?? '')?.[1], {
        what: 'listen to start',
      });
      const { stdout } = await runNode([PROGRAM, 'send', ...TYPE, address], { cwd: installed.app, env: {} });
      const [id = ''] = /evt_\w+/.exec(stdout) ?? [];
      await waitFor(() => listen.output().includes(`email.bounced ${id}: verified, answered 204`), {
        what: 'the event to be printed',
      });
    } finally {
      await listen.stop();
      await stopHandler();
    }
  });
});

describe.each(['@postrider/receiver', '@postrider/receiver/web'])('%s agrees with the vectors', (entry) => {
  test('by import', async () => {
    const program = `
      import { SignatureVerificationError, verifySignature } from '${entry}';
      import vectors from '@postrider/receiver/vectors.json' with { type: 'json' };
      ${VERIFY_ALL}`;
    expect(await printed('verify.mjs', program)).toEqual(expectedResults());
  });

  test('by require', async () => {
    const program = `
      const { SignatureVerificationError, verifySignature } = require('${entry}');
      const vectors = require('@postrider/receiver/vectors.json');
      (async () => { ${VERIFY_ALL} })();`;
    expect(await printed('verify.cjs', program)).toEqual(expectedResults());
  });
});

test('the entry for Web Crypto runs where neither Buffer, process nor require exist', async () => {
  const program = `
    import vectors from '@postrider/receiver/vectors.json' with { type: 'json' };
    for (const name of ['Buffer', 'process', 'global', 'setImmediate']) delete globalThis[name];
    const { SignatureVerificationError, parseEvent } = await import('@postrider/receiver/web');
    const verifySignature = async (request) => {
      try {
        await parseEvent(request);
      } catch (error) {
        // It verifies first. A signed empty body is no JSON.
        if (!(error instanceof SyntaxError)) throw error;
      }
    };
    ${VERIFY_ALL}`;
  expect(await printed('browser.mjs', program)).toEqual(expectedResults());
});

describe('the types', () => {
  const USE = `
declare const headers: Headers;
export async function handle(body: Uint8Array, entry: 'node' | 'web'): Promise<string> {
  const request = { header: headers.get('service-signature'), body, secret: 'whsec_x' };
  try {
    const event = entry === 'web' ? await web.parseEvent(request) : parseEvent(request);
    if (event.type === 'email.bounced') return event.data.detail.bounce_type ?? event.data.recipients[0] ?? '';
    // @ts-expect-error: no event has such a type
    return event.type === 'email.lost' ? '' : event.id;
  } catch (error) {
    if (error instanceof SignatureVerificationError || error instanceof web.SignatureVerificationError) {
      const reason: SignatureFault = error.reason;
      return reason;
    }
    throw error;
  }
}`;
  const BY_IMPORT = `
import { parseEvent, SignatureVerificationError, type SignatureFault } from '@postrider/receiver';
import * as web from '@postrider/receiver/web';
${USE}`;
  const BY_REQUIRE = `
import receiver = require('@postrider/receiver');
import web = require('@postrider/receiver/web');
import type { SignatureFault } from '@postrider/receiver';
const { parseEvent, SignatureVerificationError } = receiver;
${USE}`;

  test.each([
    ['node16', 'node16', { 'use.mts': BY_IMPORT, 'use.cts': BY_REQUIRE }],
    ['bundler', 'esnext', { 'use.ts': BY_IMPORT }],
  ])(
    'compile under moduleResolution %s, without the types of Node, also with an old compiler',
    async (moduleResolution, module, files) => {
      const folder = join(installed.app, moduleResolution);
      mkdirSync(folder);
      const compilerOptions = {
        ...{ module, moduleResolution, target: 'es2022', lib: ['es2022', 'dom'], types: [] },
        ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true },
      };
      write(folder, 'tsconfig.json', JSON.stringify({ compilerOptions, files: Object.keys(files) }));
      for (const [name, content] of Object.entries(files)) write(folder, name, content);
      for (const compiler of [TYPESCRIPT, OLD_TYPESCRIPT]) {
        const { code, stdout } = await runNode([compiler, '-p', folder]);
        expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
      }
    },
  );

  test('the old compiler does not know the generic Uint8Array', async () => {
    const { stdout } = await runNode([OLD_TYPESCRIPT, '--version']);
    expect(stdout).toMatch(/^Version 5\.[0-6]\./);
  });
});
