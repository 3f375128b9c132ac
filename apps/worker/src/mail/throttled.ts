import { setTimeout as delay } from 'node:timers/promises';
import type { ProviderResult } from '@postrider/domain';

export interface ThrottledParts<Message> {
  readonly send: (message: Message) => Promise<ProviderResult>;
  /** Aborted when the worker stops: no further attempt begins. */
  readonly stopped: AbortSignal;
  readonly onThrottled: () => void;
  readonly pausesMs?: readonly number[];
}

/** Longer each time. So the slots find the rate of a provider that allows less than they could send. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 16_000];

/**
 * Sends a message again while the provider throttles us. The message keeps its slot meanwhile. So only as
 * many messages ask as there are slots, and all others wait in Postgres.
 *
 * @returns the first other answer, or the last one when the pauses are over or the worker stops
 */
export function whileThrottled<Message>(
  parts: ThrottledParts<Message>,
): (message: Message) => Promise<ProviderResult> {
  const { send, stopped, onThrottled, pausesMs = PAUSES_MS } = parts;
  const sendOnce = async (message: Message) => {
    const answer = await send(message);
    if (answer.kind === 'throttled') onThrottled();
    return answer;
  };
  return async (message) => {
    let answer = await sendOnce(message);
    for (const pauseMs of pausesMs) {
      if (answer.kind !== 'throttled' || !(await pause(pauseMs, stopped))) break;
      answer = await sendOnce(message);
    }
    return answer;
  };
}

/**
 * Pauses at least half of the time, at random: messages that came together must not ask together.
 * @returns false when the worker stopped meanwhile
 */
async function pause(pauseMs: number, stopped: AbortSignal): Promise<boolean> {
  const partMs = pauseMs * (0.5 + Math.random() / 2);
  return delay(partMs, true, { signal: stopped }).catch(() => false);
}
