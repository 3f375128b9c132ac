import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap } from './bootstrap.mjs';
import { exitOnSetupError } from './setup-command.mjs';
import { summaryOf } from './test-summary.mjs';
import { ROOT } from './workspace.mjs';

const MODULES = join(ROOT, 'node_modules');

/** What is checked before the tests run, in this order, two at a time. */
const STATIC_STEPS = [
  ['format', join(MODULES, 'prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'],
  ['lint', join(MODULES, 'eslint/bin/eslint.js'), '--max-warnings', '0', '.'],
  ['types', join(MODULES, 'typescript/bin/tsc'), '--noEmit', '-p', '.'],
  [
    'dependencies',
    join(MODULES, 'dependency-cruiser/bin/dependency-cruise.mjs'),
    ...['--config', '.dependency-cruiser.cjs', 'apps', 'packages', 'e2e', 'bench'],
  ],
  ['unused', join(MODULES, 'knip/bin/knip.js')],
  ['generated', join(ROOT, 'scripts/check-generated.mjs')],
  ['build', join(ROOT, 'scripts/build.mjs')],
];
const STEPS_AT_ONCE = 2;

const children = new Set();

/** `npm test`: every check, then Jest. `npm test -- ARGS` runs Jest alone, with these arguments. */
async function main(jestArgs) {
  await exitOnSetupError(bootstrap);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => stopOn(signal));
  if (jestArgs.length === 0) await runStaticSteps();
  process.exitCode = await runJest(jestArgs);
}

async function runStaticSteps() {
  const waiting = [...STATIC_STEPS];
  const worker = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) await runStep(step);
  };
  await Promise.all(Array.from({ length: STEPS_AT_ONCE }, worker));
}

async function runStep([name, ...command]) {
  const startedAt = performance.now();
  const output = [];
  const code = await runNode(command, ['ignore', 'pipe', 'pipe'], output);
  const line = `[test] ${name} … ${code === 0 ? 'ok' : 'FAILED'} ${seconds(startedAt)}\n`;
  if (code === 0) {
    process.stdout.write(line);
    return;
  }
  process.stdout.write(Buffer.concat([...output, Buffer.from(line)]));
  for (const child of children) child.kill();
  process.exit(1);
}

/** Jest writes its report to stderr and, on our request, its numbers to a file; the last line repeats them. */
async function runJest(args) {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-jest-'));
  const resultFile = join(folder, 'result.json');
  const flags = ['--json', `--outputFile=${resultFile}`, ...(process.env.CI === 'true' ? ['--ci'] : [])];
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  try {
    const code = await runNode(
      [...node, join(MODULES, 'jest/bin/jest.js'), ...flags, ...args],
      ['inherit', 'ignore', 'inherit'],
    );
    if (!existsSync(resultFile)) {
      process.stdout.write(`[test] jest … FAILED without a result (exit code ${code})\n`);
      return 1;
    }
    const result = JSON.parse(readFileSync(resultFile, 'utf8'));
    process.stdout.write(`${summaryOf(result)}\n`);
    return code === 0 && result.success ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runNode(args, stdio, output = []) {
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio });
  children.add(child);
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

function stopOn(signal) {
  for (const child of children) child.kill(signal);
  process.exitCode = 1;
}

function seconds(startedAt) {
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}

await main(process.argv.slice(2));
