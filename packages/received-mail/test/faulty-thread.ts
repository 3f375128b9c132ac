import { parseMessage } from '../src/parse-message.ts';
import { answerMessages } from '../src/thread-protocol.ts';

/*
 * A thread that parses as `parse-thread.ts` does, and breaks where the message asks for it.
 */

const FAULTS: Readonly<Record<string, () => unknown>> = {
  time: () => {
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
  late: () => {
    setImmediate(() => {
      throw new Error('a fault after the answer');
    });
  },
};

answerMessages(async (raw) => {
  const fault = /^X-Fault: (\w+)$/m.exec(raw.toString('latin1'))?.[1] ?? 'none';
  await FAULTS[fault]?.();
  return parseMessage(raw);
});
