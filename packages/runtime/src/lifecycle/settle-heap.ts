import { Session } from 'node:inspector';

/**
 * Runs one full garbage collection. Until the first full collection V8 lets the heap grow to a share of the
 * machine's memory. After it, the limit follows the live objects.
 */
export async function settleHeap(): Promise<void> {
  const session = new Session();
  session.connect();
  // An error is ignored: V8 then collects later.
  await new Promise<unknown>((resolve) => session.post('HeapProfiler.collectGarbage', resolve));
  session.disconnect();
}
