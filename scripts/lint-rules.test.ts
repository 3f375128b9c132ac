import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '..');
const OXLINT = join(ROOT, 'node_modules/oxlint/bin/oxlint');

const folder = mkdtempSync(join(tmpdir(), 'postrider-lint-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** @returns the rules of scripts/lint-rules.mjs that the text breaks, as a file of this path */
async function brokenRules(path: string, text: string): Promise<string[]> {
  const config = JSON.parse(readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8')) as object;
  const here = { ...config, options: {}, jsPlugins: [join(ROOT, 'scripts/lint-rules.mjs')] };
  writeFileSync(join(folder, '.oxlintrc.json'), JSON.stringify(here));
  mkdirSync(join(folder, dirname(path)), { recursive: true });
  writeFileSync(join(folder, path), text);
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, [OXLINT, '--format', 'json', path], { cwd: folder }, (_error, out) =>
    resolve(out),
  );
  const { diagnostics } = JSON.parse(await promise) as { diagnostics: { code: string }[] };
  return diagnostics.flatMap(({ code }) => /^postrider\((.+)\)$/.exec(code)?.[1] ?? []).sort();
}

const CLOCKS = 'export const a = [Date.now(), new Date()];';
const ENVIRONMENT = 'export const a = process.env;';

test.each([
  ['packages/store/src/a.ts', ENVIRONMENT, ['no-process-env']],
  ['packages/testing/src/a.ts', ENVIRONMENT, []],
  [
    'packages/store/src/a.test.ts',
    `jest.mock('x'); jest.unstable_mockModule('x');`,
    ['no-module-mocks', 'no-module-mocks'],
  ],
  ['e2e/a.test.ts', `import { hash } from 'node:crypto'; hash;`, ['no-named-hash']],
  ['packages/testing/src/b.ts', `export * from './a.ts';`, ['no-export-all']],
  ['packages/domain/src/a.ts', CLOCKS, ['no-clock', 'no-clock']],
  ['packages/domain/src/b.ts', 'export const a = new Date(1);', []],
  ['packages/domain/src/a.test.ts', CLOCKS, []],
  ['packages/store/src/b.ts', CLOCKS, []],
])('%s with %s breaks %j', async (path, text, rules) => {
  expect(await brokenRules(path, text)).toEqual(rules);
});
