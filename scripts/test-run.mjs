import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from './setup-command.mjs';
import { ROOT } from './workspace.mjs';

/** The result line when a check failed, when Jest gave no count or ran no test, and when the work threw. */
const NO_RESULT = '0 passed, 1 failed, 0 skipped';
const CHECKS_AT_ONCE = 2;
const CHECKS_NICENESS = 10; // the tests go first: they decide when the run ends

/** When a child ends, its process group gets this time to end: `npm start` needs it to stop its Postgres. */
const GROUP_ENDS_MS = 5_000;

/**
 * Does the work of `npm test`, and then prints the line of its result: `N passed, N failed, N skipped`. It is the last
 * line also when the work throws, and when a signal stops the run.
 *
 * @param work given a `TestRun`; returns the line
 */
export async function printResultOf(work) {
  const run = new TestRun();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => run.stop(signal));
  let lastLine = NO_RESULT;
  try {
    lastLine = await work(run);
  } catch (error) {
    process.stderr.write(`${error instanceof SetupError ? error.message : error.stack}\n`);
  }
  if (lastLine === NO_RESULT) process.exitCode = 1;
  process.stdout.write(`${lastLine}\n`);
}

/** The child processes of one `npm test`. */
class TestRun {
  #children = new Set();
  #stopped = false;

  /** Runs Jest, and the static checks beside it. The first check that fails stops Jest. @returns the result's line */
  async testAndCheck(jest, checks) {
    const [summary, passed] = await Promise.all([this.test(jest), this.#passAll(checks)]);
    return passed ? summary : NO_RESULT;
  }

  /** Runs the static checks alone. @returns the result's line */
  async check(checks) {
    return (await this.#passAll(checks)) ? `${checks.length} passed, 0 failed, 0 skipped` : NO_RESULT;
  }

  /** @param command the arguments of node @returns the line that Jest's reporter wrote */
  async test(command) {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-jest-'));
    const summaryFile = join(folder, 'summary');
    try {
      const code = await this.#runNode(command, {
        stdio: ['inherit', 'ignore', 'inherit'], // Jest writes its report to stderr
        // The tests start some 300 processes. With the code that the first ones compiled, a start costs a quarter less.
        // Not NODE_COMPILE_CACHE: a worker of Jest writes its cache at its end for longer than the 0.5 s that Jest gives.
        env: { TEST_SUMMARY_FILE: summaryFile, TEST_COMPILE_CACHE: join(folder, 'compiled') },
      });
      if (code !== 0) process.exitCode = 1;
      const summary = existsSync(summaryFile) ? readFileSync(summaryFile, 'utf8') : null;
      if (summary !== null && !summary.startsWith('0 passed, 0 failed,')) return summary;
      const fault =
        summary === null
          ? `jest … FAILED without a result (exit code ${code})`
          : `no test ran (${summary}): does a file fit the pattern, a title fit -t, and is Redis there if they need it?`;
      if (!this.#stopped) process.stdout.write(`[test] ${fault}\n`);
      return NO_RESULT;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Ends every child and what it has started. */
  stop(signal) {
    this.#stopped = true;
    process.exitCode = 1;
    for (const child of this.#children) signalGroup(child, signal);
  }

  /** @returns false as soon as one check has failed */
  async #passAll(checks) {
    const waiting = [...checks];
    const checkOneByOne = async () => {
      for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
        if (await this.#passes(check)) continue;
        waiting.length = 0;
        this.stop('SIGTERM');
        return false;
      }
      return true;
    };
    const results = await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, checkOneByOne));
    return results.every(Boolean);
  }

  async #passes([name, ...command]) {
    const startedAt = performance.now();
    const output = [];
    const code = await this.#runNode(command, {
      stdio: ['ignore', 'pipe', 'pipe'],
      output,
      niceness: CHECKS_NICENESS,
    });
    if (this.#stopped) return false;
    if (code !== 0) process.stdout.write(Buffer.concat(output));
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    process.stdout.write(`[test] ${name} … ${code === 0 ? 'ok' : 'FAILED'} ${seconds} s\n`);
    return code === 0;
  }

  /** @returns the exit code; 1 when a signal ended the process */
  async #runNode(args, { stdio, env = {}, output = [], niceness = 0 }) {
    if (this.#stopped) return 1;
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      stdio,
      env: { ...process.env, ...env },
      detached: true, // a group of its own: tsc and Jest start processes that outlive a signal to them alone
    });
    if (child.pid !== undefined) this.#children.add(child);
    if (niceness !== 0 && child.pid !== undefined) lowerPriority(child.pid, niceness);
    child.stdout?.on('data', (chunk) => output.push(chunk));
    child.stderr?.on('data', (chunk) => output.push(chunk));
    return new Promise((resolve, reject) => {
      let groupEnded;
      child.once('error', reject);
      child.once('exit', () => {
        // The processes that a killed worker of Jest started still run. While they hold the pipes open,
        // `close` does not come.
        if (!this.#stopped) signalGroup(child, 'SIGTERM');
        groupEnded = endGroup(child);
      });
      child.once('close', async (code) => {
        await groupEnded;
        this.#children.delete(child);
        resolve(code ?? 1);
      });
    });
  }
}

async function endGroup(child) {
  const killAt = performance.now() + GROUP_ENDS_MS;
  while (signalGroup(child, 0) && performance.now() < killAt) await delay(50);
  signalGroup(child, 'SIGKILL');
}

/** @param signal 0 sends none @returns true while the group exists */
function signalGroup(child, signal) {
  try {
    return process.kill(-child.pid, signal);
  } catch (error) {
    // macOS answers EPERM when all processes of the group have ended, and one is not reaped yet.
    if (!['ESRCH', 'EPERM'].includes(error.code)) throw error;
    return false; // the group has ended already
  }
}

/** Does nothing when the process has ended already. */
export function lowerPriority(pid, niceness) {
  try {
    setPriority(pid, niceness);
  } catch (error) {
    if (error.info?.code !== 'ESRCH') throw error;
  }
}
