import { parseMessage } from '../src/parse-message.ts';
import { answerMessages } from '../src/message-transfer.ts';

/*
 * A thread that parses as `parse-thread.ts` does, and breaks where the message asks for it.
 */

/** Of the message before: it breaks the thread under the one that comes next. */
let breaksNext = false;

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
  next: () => {
    breaksNext = true;
  },
  late: () => {
    setImmediate(() => {
      throw new Error('a fault after the answer');
    });
  },
};

answerMessages(async (raw) => {
  if (breaksNext) throw new Error('a fault of the message before');
  const fault = /^X-Fault: (\w+)$/m.exec(raw.toString('latin1'))?.[1] ?? 'none';
  await FAULTS[fault]?.();
  return parseMessage(raw);
});
