import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import type { SourceMapPayload } from 'node:module';
import { join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '..');
/** Node reads a whole map, on the event loop, when code first reads the stack of an error. */
const MAPPINGS_BYTES_MAX = 1_000_000;
/** The first bytes of each file of WebAssembly. */
const WASM = Buffer.from('\0asm\x01\0\0\0');

function mapOf(app: string): SourceMapPayload {
  return JSON.parse(readFileSync(join(ROOT, `dist/${app}.js.map`), 'utf8')) as SourceMapPayload;
}

/** @returns line and column, from 0, of `text`. */
function positionOf(path: string, text: string): [line: number, column: number] {
  const lines = readFileSync(join(ROOT, path), 'utf8').split('\n');
  const line = lines.findIndex((each) => each.includes(text));
  if (line < 0) throw new Error(`${path} has no ${text}`);
  return [line, lines[line]?.indexOf(text) ?? 0];
}

test('a change of any file of ours in a bundle makes the bundles stale', async () => {
  const build = new URL('build.mjs', import.meta.url).href;
  const { sourceFiles } = (await import(build)) as { sourceFiles: () => string[] };
  const maps = readdirSync(join(ROOT, 'dist')).filter((file) => file.endsWith('.js.map'));
  const ours = maps
    .flatMap((file) => mapOf(file.replace(/\.js\.map$/, '')).sources)
    .map((source) => relative(ROOT, join(ROOT, 'dist', source)))
    .filter((path) => !path.includes('node_modules') && existsSync(join(ROOT, path)));
  expect(ours).toContain('e2e/torture/main.ts');
  const known = new Set(sourceFiles());
  expect([...new Set(ours)].filter((path) => !known.has(path))).toEqual([]);
});

describe.each([
  ['api', 'apps/api/src/app.ts', 'function createApp('],
  ['relay', 'apps/relay/src/relay.ts', 'function addRelay('],
  ['worker', 'apps/worker/src/delivery/deliver.ts', 'async function deliver('],
])('the source map of %s', (app, file, text) => {
  test('names the lines of our code', () => {
    const entry = new SourceMap(mapOf(app)).findEntry(...positionOf(`dist/${app}.js`, text));
    expect(entry).toMatchObject({ originalSource: `../${file}`, originalLine: positionOf(file, text)[0] });
  });

  test('is small enough to be read on the event loop', () => {
    const { mappings, sourcesContent } = mapOf(app);
    expect(mappings.length).toBeLessThan(MAPPINGS_BYTES_MAX);
    expect(sourcesContent).toBeUndefined();
  });
});

// One character beyond Latin-1 makes V8 keep two bytes for each character of the file while the process runs.
test.each(['all', 'api', 'relay', 'worker', 'inbound', 'console', 'parse-thread', 'authenticate-thread'])(
  'the bundle of %s is Latin-1',
  (app) => {
    const wide = /.{0,40}[^\0-\xff].{0,40}/u.exec(readFileSync(join(ROOT, `dist/${app}.js`), 'utf8'));
    expect(wide?.[0]).toBeUndefined();
  },
);

// An import would load Node's HTTP client, which takes a tenth of the CPU time of a start.
test.each(['all', 'api', 'relay', 'worker', 'inbound', 'console', 'cli'])(
  'the bundle of %s takes node:http by require',
  (app) => {
    const bundle = readFileSync(join(ROOT, `dist/${app}.js`), 'utf8');
    expect(/\bfrom ?"(node:)?http"/.exec(bundle)).toBeNull();
    expect(bundle).toContain('require("node:http")');
  },
);

// Inside a bundle, every process would parse the 4.6 MB and keep them.
test.each(['all', 'api', 'worker', 'inbound', 'console', 'cli'])(
  'the bundle of %s has the query compiler beside it',
  (app) => {
    const bundle = readFileSync(join(ROOT, `dist/${app}.js`), 'utf8');
    expect(bundle).toContain('"./query-compiler.wasm"');
    expect(bundle).not.toContain(WASM.toString('base64').slice(0, 10));
  },
);

test('the query compiler is WebAssembly', () => {
  const file = readFileSync(join(ROOT, 'dist/query-compiler.wasm'));
  expect(file.subarray(0, WASM.length)).toEqual(WASM);
});
