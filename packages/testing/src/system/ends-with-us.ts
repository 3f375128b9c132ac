import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();

/** Ends `child` with this process, also when this process crashes. */
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
