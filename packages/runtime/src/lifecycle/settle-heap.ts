import { Session } from 'node:inspector';

/**
 * Collects all garbage of the start, once. V8 lets a heap that it has never collected whole grow to a share of the
 * machine's memory, long after the process has started; from the first collection on it goes by what is alive.
 */
export async function settleHeap(): Promise<void> {
  const session = new Session();
  session.connect();
  // Should it ever be refused, the heap settles later.
  await new Promise<unknown>((resolve) => session.post('HeapProfiler.collectGarbage', resolve));
  session.disconnect();
}
