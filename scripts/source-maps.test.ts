import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import type { SourceMapPayload } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '..');
/** Node reads a map whole, on the event loop, when the first error's stack is asked for. */
const MAPPINGS_BYTES_MAX = 1_000_000;

function mapOf(app: string): SourceMapPayload {
  return JSON.parse(readFileSync(join(ROOT, `dist/${app}.js.map`), 'utf8')) as SourceMapPayload;
}

/** @returns the line, from 0, that contains `text`. */
function lineOf(path: string, text: string): number {
  const found = readFileSync(join(ROOT, path), 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(text));
  if (found < 0) throw new Error(`${path} has no ${text}`);
  return found;
}

describe.each([
  ['api', 'apps/api/src/app.ts', 'function createApp('],
  ['relay', 'apps/relay/src/relay.ts', 'function addRelay('],
  ['worker', 'apps/worker/src/delivery/deliver.ts', 'async function deliver('],
])('the source map of %s', (app, file, text) => {
  test('tells the lines of our code', () => {
    const entry = new SourceMap(mapOf(app)).findEntry(lineOf(`dist/${app}.js`, text), 2);
    expect(entry).toMatchObject({ originalSource: `../${file}`, originalLine: lineOf(file, text) });
  });

  test('is small enough to be read while everything else waits', () => {
    const { mappings, sourcesContent } = mapOf(app);
    expect(mappings.length).toBeLessThan(MAPPINGS_BYTES_MAX);
    expect(sourcesContent).toBeUndefined();
  });
});
