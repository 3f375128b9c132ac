/** Blocks the event loop for this time, as a long computation does, without using the CPU. */
export function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
