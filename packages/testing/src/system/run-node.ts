import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { forEveryProcess } from './for-every-process.ts';

export interface EndedProcess {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Node and waits for its end. @param env added to that of `forEveryProcess`. Unset: ours */
export async function runNode(
  args: readonly string[],
  { cwd, env }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<EndedProcess> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...forEveryProcess(), ...(env ?? process.env) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
