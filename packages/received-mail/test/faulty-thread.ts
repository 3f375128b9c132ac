import { answerMessages } from '../src/message-transfer.ts';

/* A worker thread that parses like `parse-thread.ts`, and fails when the message asks for it. */

/** Set by one message: the next one fails. */
let breaksNext = false;

const FAULTS: Readonly<Record<string, () => unknown>> = {
  time: () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    for (;;) Atomics.wait(cell, 0, 0, 10); // it blocks its thread, and leaves the core to other tests
  },
  computing: () => {
    for (;;);
  },
  silence: () => new Promise(() => undefined),
  memory: () => {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 1_000 }, () => ({})));
  },
  exit: () => process.exit(7),
  throw: () => {
    throw new Error('a fault that nobody catches');
  },
  next: () => {
    breaksNext = true;
  },
};

answerMessages(async (raw) => {
  if (breaksNext) throw new Error('a fault of the message before');
  const fault = /^X-Fault: (\w+)$/m.exec(raw.toString('latin1'))?.[1] ?? 'none';
  await FAULTS[fault]?.();
  // The parser takes most of a thread's start. A thread that fails does without.
  const { parseMessage } = await import('../src/parse-message.ts');
  const parsed = await parseMessage(raw);
  if (fault === 'late') {
    setImmediate(() => {
      throw new Error('a fault after the answer');
    });
  }
  return parsed;
});
