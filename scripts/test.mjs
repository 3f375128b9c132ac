import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap } from './bootstrap.mjs';
import { buildIfStale } from './build.mjs';
import { SetupError } from './setup-command.mjs';
import { ROOT } from './workspace.mjs';

const MODULES = join(ROOT, 'node_modules');

/** What is checked beside the tests. */
const STATIC_CHECKS = [
  ['types', join(MODULES, 'typescript7/bin/tsc'), '--noEmit', '-p', '.'],
  ['lint', join(MODULES, 'eslint/bin/eslint.js'), '--max-warnings', '0', '.'],
  [
    'dependencies',
    join(MODULES, 'dependency-cruiser/bin/dependency-cruiser.mjs'),
    ...['--config', '.dependency-cruiser.cjs', 'apps', 'packages', 'e2e', 'bench'],
  ],
  ['unused', join(MODULES, 'knip/bin/knip.js')],
  ['prose', join(ROOT, 'scripts/check-prose.mjs')],
  ['generated', join(ROOT, 'scripts/check-generated.mjs')],
  ['format', join(MODULES, 'prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'],
];
const CHECKS_AT_ONCE = 2;
const CHECKS_NICENESS = 10; // the tests go first: they decide when the run ends

/** Says one failure where Jest could not count. */
const NO_RESULT = '0 passed, 1 failed, 0 skipped';

const children = new Set();
let stopping = false;

/**
 * `npm test`: the build, then every test and beside them every static check. `npm test -- ARGS` runs Jest alone, with
 * these arguments. `--long` as the first argument runs the long versions of the fuzz, property and e2e tests.
 * @returns the last line, always `N passed, N failed, N skipped`
 */
async function main([first, ...rest]) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => stop(signal));
  await bootstrap();
  await buildIfStale();
  if (first === undefined) {
    const [summary, passed] = await Promise.all([runJest([]), runStaticChecks()]);
    return passed ? summary : NO_RESULT;
  }
  if (first !== '--long') return runJest([first, ...rest]);
  process.env.TEST_LONG = '1';
  return runJest(rest.length > 0 ? rest : ['fuzz', 'property', 'e2e']);
}

/** @returns false as soon as one has failed; Jest is stopped then */
async function runStaticChecks() {
  const waiting = [...STATIC_CHECKS];
  const checkOneByOne = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      if (await passes(check)) continue;
      waiting.length = 0;
      stop('SIGTERM');
      return false;
    }
    return true;
  };
  const results = await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, checkOneByOne));
  return results.every(Boolean);
}

async function passes([name, ...command]) {
  const startedAt = performance.now();
  const output = [];
  const code = await runNode(command, {
    stdio: ['ignore', 'pipe', 'pipe'],
    output,
    niceness: CHECKS_NICENESS,
  });
  if (stopping) return false;
  if (code !== 0) process.stdout.write(Buffer.concat(output));
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`[test] ${name} … ${code === 0 ? 'ok' : 'FAILED'} ${seconds} s\n`);
  return code === 0;
}

/** @returns the line that Jest's reporter wrote */
async function runJest(args) {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-jest-'));
  const summaryFile = join(folder, 'summary');
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const ci = process.env.CI === 'true' ? ['--ci'] : [];
  try {
    const code = await runNode([...node, join(MODULES, 'jest/bin/jest.js'), ...ci, ...args], {
      stdio: ['inherit', 'ignore', 'inherit'], // Jest writes its report to stderr
      env: { TEST_SUMMARY_FILE: summaryFile },
    });
    if (code !== 0) process.exitCode = 1;
    if (existsSync(summaryFile)) return readFileSync(summaryFile, 'utf8');
    process.stdout.write(`[test] jest … FAILED without a result (exit code ${code})\n`);
    return NO_RESULT;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runNode(args, { stdio, env = {}, output = [], niceness = 0 }) {
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio, env: { ...process.env, ...env } });
  children.add(child);
  if (niceness !== 0 && child.pid !== undefined) setPriority(child.pid, niceness);
  child.stdout?.on('data', (chunk) => output.push(chunk));
  child.stderr?.on('data', (chunk) => output.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      children.delete(child);
      resolve(code ?? 1);
    });
  });
}

function stop(signal) {
  stopping = true;
  process.exitCode = 1;
  for (const child of children) child.kill(signal);
}

let lastLine = NO_RESULT;
try {
  lastLine = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof SetupError ? error.message : error.stack}\n`);
}
if (lastLine === NO_RESULT) process.exitCode = 1;
process.stdout.write(`${lastLine}\n`);
