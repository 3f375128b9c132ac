import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '@postrider/runtime';
import { StartError } from '../settings.ts';

/** Runs `postrider ARGS --json` and returns its document. @throws StartError with its error line. */
export async function postrider(
  distDir: string,
  args: readonly string[],
  env: Environment,
): Promise<unknown> {
  const child = spawn(process.execPath, [join(distDir, 'cli.js'), ...args, '--json'], {
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) {
    const line = stderr.trim().split('\n').at(-1) ?? '';
    throw new StartError(
      line === '' ? `postrider ${args.join(' ')} ended with ${code}` : line.replace(/^postrider: /, ''),
    );
  }
  return JSON.parse(stdout);
}
