import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '@postrider/runtime';
import { StartError } from '../settings.ts';

/** Runs `postrider ARGS --json` and returns its document. @throws StartError with its error line. */
export async function postrider(
  distDir: string,
  args: readonly string[],
  env: Environment,
): Promise<unknown> {
  const { stdout, error } = await runPostrider(distDir, args, env);
  if (error !== null) throw error;
  return JSON.parse(stdout);
}

/** Returns what `postrider ARGS --json` printed. `error` has its error line; null means exit code 0. */
export async function runPostrider(
  distDir: string,
  args: readonly string[],
  env: Environment,
): Promise<{ readonly stdout: string; readonly error: StartError | null }> {
  const command = [join(distDir, 'cli.js'), ...args, '--json'];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, command, { env: { ...env } });
    return { stdout, error: null };
  } catch (error) {
    const { stdout = '', stderr = '', code } = error as { stdout?: string; stderr?: string; code?: unknown };
    const line = stderr.trim().split('\n').at(-1) ?? '';
    const words =
      line === ''
        ? `postrider ${args.join(' ')} ended with ${String(code)}`
        : line.replace(/^postrider: /, '');
    return { stdout, error: new StartError(words) };
  }
}

/** Names the variable in a StartError of `work`. Null: no variable of the user is at fault. */
export async function naming<T>(variable: string | null, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StartError) || variable === null) throw error;
    throw new StartError(`${error.message} (${variable})`, { cause: error });
  }
}
