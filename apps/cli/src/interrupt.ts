import { ignoringRepeats, SAME_STOP_MS } from '@postrider/runtime';

/** The exit code of a process that a SIGINT ended. */
const INTERRUPTED = 130;

/**
 * Runs work with a signal that Ctrl+C aborts. The work then returns early. Another Ctrl+C, more than a second
 * later, ends the process at once.
 */
export async function withInterrupt<T>(work: (interrupt: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = ignoringRepeats(() => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  });
  process.on('SIGINT', stop);
  try {
    return await work(controller.signal);
  } finally {
    process.off('SIGINT', stop);
    if (controller.signal.aborted) ignoreRepeat();
  }
}

/**
 * The terminal and npm each send a SIGINT for one Ctrl+C. The second one may come after the work, and would
 * end the process before its last lines.
 */
function ignoreRepeat(): void {
  const ignore = () => undefined;
  process.on('SIGINT', ignore);
  setTimeout(() => process.off('SIGINT', ignore), SAME_STOP_MS).unref();
}
