/** Keeps this process from everything else for so long, as a long computation would, without taking the processor. */
export function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
