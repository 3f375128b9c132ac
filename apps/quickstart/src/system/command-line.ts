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
  const command = [join(distDir, 'cli.js'), ...args, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: { ...env } }).catch(
    (error: unknown) => {
      const { stderr = '', code } = error as { readonly stderr?: string; readonly code?: unknown };
      const line = stderr.trim().split('\n').at(-1) ?? '';
      throw new StartError(
        line === ''
          ? `postrider ${args.join(' ')} ended with ${String(code)}`
          : line.replace(/^postrider: /, ''),
      );
    },
  );
  return JSON.parse(stdout);
}
