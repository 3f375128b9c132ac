import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();

/**
 * Kills `child` when this process exits, also after an uncaught error. When a signal ends this process, `npm
 * test` ends `child`.
 */
export function endsWithUs(child: ChildProcess): void {
  if (children.size === 0) process.once('exit', killAll);
  children.add(child);
  child.once('exit', () => {
    children.delete(child);
    if (children.size === 0) process.off('exit', killAll);
  });
}

function killAll(): void {
  for (const child of children) child.kill('SIGKILL');
}
