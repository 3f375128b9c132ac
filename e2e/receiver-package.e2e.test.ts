import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { listen, runNode, waitFor } from '@postrider/testing';
import { npx, runProgram, setupInstalledReceiver, start, startExample, write } from './installed-receiver.ts';

/* The package for customers, as they get it: packed by npm, installed from the file, without a registry. */

const RECEIVER = fileURLToPath(new URL('../packages/receiver/', import.meta.url));
const MODULES = fileURLToPath(new URL('node_modules/', import.meta.url));
const TYPESCRIPT = fileURLToPath(new URL('../node_modules/typescript7/bin/tsc', import.meta.url));
/** The compiler of @arethetypeswrong. It is older than 5.7, in which `Uint8Array` became generic. */
const OLD_TYPESCRIPT = [
  '@arethetypeswrong/cli/package.json',
  '@arethetypeswrong/core',
  'typescript/bin/tsc',
].reduce((from, name) => createRequire(from).resolve(name), import.meta.url);

const installed = setupInstalledReceiver();

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

/** The results in the source folder. The programs read the vectors of the package. */
function expectedResults(): string[] {
  return (JSON.parse(readFileSync(join(RECEIVER, 'vectors.json'), 'utf8')) as { result: string }[]).map(
    ({ result }) => result,
  );
}

describe('the packed file', () => {
  test('cannot be made from the source folder', () => {
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
  ])('%s finds no problem', async (_tool, [program = '', ...args], words) => {
    const { code, stdout, stderr } = await runNode([join(MODULES, program), ...args, installed.tarball]);
    expect({ code, said: stdout.includes(words) ? words : stdout + stderr }).toEqual({
      code: 0,
      said: words,
    });
  });
});

describe('the commands, without a network', () => {
  const SECRET = 'whsec_of_the_handler';
  const PROGRAM = 'node_modules/.bin/postrider-receiver';
  /** The first words of the commands on the pages. */
  const NPX = ['--no', '--', '@postrider/receiver'];
  const TYPE = ['--type', 'email.bounced', '--secret', SECRET, '--to'];

  test('npx finds them, send posts an event to a handler, and wrong usage ends with 2', async () => {
    const { url, output, stop } = await startExample(installed, 'express.mjs', SECRET);
    try {
      const words = ['--offline', '--cache', join(installed.folder, 'cache'), ...NPX];
      const line = await npx(installed.app, ...words, 'send', ...TYPE, url);
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

  test('npx in a folder without the package fails, and runs no package of that name from a registry', async () => {
    const asked: string[] = [];
    const registry = await listen(
      createServer(({ url = '', headers }, response) => {
        asked.push(url);
        const dist = { tarball: `http://${headers.host}/-/receiver.tgz` };
        const versions = { '9.9.9': { name: '@postrider/receiver', version: '9.9.9', bin: 'run.js', dist } };
        const answer = { name: '@postrider/receiver', 'dist-tags': { latest: '9.9.9' }, versions };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      }),
    );
    try {
      const elsewhere = join(installed.folder, 'elsewhere');
      mkdirSync(elsewhere);
      const npmrc = write(elsewhere, '.npmrc', ''); // npm's default: without a terminal it installs unasked
      const words = [
        ...['--registry', `http://127.0.0.1:${registry.port}`],
        ...['--userconfig', npmrc, '--cache', join(elsewhere, 'cache')],
      ];
      await expect(npx(elsewhere, ...words, ...NPX, 'listen')).rejects.toThrow('npx canceled');
      expect(asked.filter((path) => path.endsWith('.tgz'))).toEqual([]);
    } finally {
      await registry.close();
    }
  });

  test('listen forwards the event that send posts to a handler', async () => {
    const { url, stop: stopHandler } = await startExample(installed, 'fastify.mjs', SECRET);
    const listening = start(installed, [
      PROGRAM,
      'listen',
      '--port',
      '0',
      '--secret',
      SECRET,
      '--forward',
      url,
    ]);
    try {
      const address = await waitFor(() => /^listening on (\S+),/.exec(listening.output()[0] ?? '')?.[1], {
        what: 'listen to start',
      });
      const { stdout } = await runNode([PROGRAM, 'send', ...TYPE, address], { cwd: installed.app, env: {} });
      const [id = ''] = /evt_\w+/.exec(stdout) ?? [];
      await waitFor(() => listening.output().includes(`email.bounced ${id}: verified, answered 204`), {
        what: 'the event to be printed',
      });
    } finally {
      await listening.stop();
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
    expect(await runProgram(installed, 'verify.mjs', program)).toEqual(expectedResults());
  });

  test('by require', async () => {
    const program = `
      const { SignatureVerificationError, verifySignature } = require('${entry}');
      const vectors = require('@postrider/receiver/vectors.json');
      (async () => { ${VERIFY_ALL} })();`;
    expect(await runProgram(installed, 'verify.cjs', program)).toEqual(expectedResults());
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
  expect(await runProgram(installed, 'browser.mjs', program)).toEqual(expectedResults());
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
        module,
        moduleResolution,
        target: 'es2022',
        lib: ['es2022', 'dom'],
        types: [],
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noEmit: true,
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
