import { setTimeout } from 'node:timers/promises';
import type { WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { asError } from './errors.ts';
import { createPool } from './pool.ts';
import type { PoolOptions } from './pool.ts';

/** A message to the relays: these webhooks got a delivery; `mail`: mail was queued. */
export interface WakeUp {
  readonly webhooks: readonly WebhookId[];
  readonly mail: boolean;
}

export interface ParsedWakeUp extends WakeUp {
  /** The relay should sweep now: there were too many webhooks to name, or wake-ups may have been missed. */
  readonly sweep: boolean;
}

export const CHANNEL = 'postrider_wake';
/** Replaces the ids when there are too many. The relay then sweeps. */
const SWEEP = '*';
const MAIL = 'mail';
const WORDS: readonly string[] = [SWEEP, MAIL];
/** A payload must have less than 8,000 bytes. An id has 29, and a comma. */
const WEBHOOKS_PER_NOTIFY = 200;
/** Above this number, a sweep costs less. */
const WEBHOOKS_PER_WAKE_UP = 2_000;
const WAKE_UP_INTERVAL_MS = 5;

export type WakeUps = ReturnType<typeof createWakeUps>;

/**
 * Sends wake-ups with NOTIFY, on a connection of its own. Inside the cause's transaction, NOTIFY would make
 * every commit of the cluster queue behind one lock. The first wake-up goes at once, later ones at most every
 * 5 ms.
 *
 * After a lost wake-up, the relay finds the deliveries with its next sweep. So a failure goes to `onError`,
 * never to the caller. Wake-ups that came meanwhile are sent next.
 */
export function createWakeUps(options: Omit<PoolOptions, 'durableCommits' | 'size'>) {
  const pool: Pool = createPool({ ...options, size: 1, durableCommits: false });
  const webhooks = new Set<WebhookId>();
  const words = new Set<string>();
  let sending: Promise<void> | null = null;
  let sentAtMs = -Infinity;

  async function sendAll(): Promise<void> {
    while (webhooks.size > 0 || words.size > 0) {
      const waitMs = sentAtMs + WAKE_UP_INTERVAL_MS - performance.now();
      if (waitMs > 0) await setTimeout(waitMs);
      const parts: string[] = webhooks.size > WEBHOOKS_PER_WAKE_UP ? [SWEEP] : [...webhooks];
      parts.push(...words);
      webhooks.clear();
      words.clear();
      sentAtMs = performance.now();
      try {
        await pool.query({
          name: 'wake',
          text: 'select pg_notify($1, payload) from unnest($2::text[]) payload',
          values: [CHANNEL, payloadsOf(parts)],
        });
      } catch (error) {
        options.onError(asError(error));
      }
    }
    sending = null;
  }

  return {
    send(wakeUp: WakeUp): void {
      for (const id of wakeUp.webhooks) webhooks.add(id);
      if (wakeUp.mail) words.add(MAIL);
      if (webhooks.size > 0 || words.size > 0) sending ??= sendAll();
    },
    async close(): Promise<void> {
      await sending;
      await pool.end();
    },
  };
}

function payloadsOf(parts: readonly string[]): string[] {
  const count = Math.ceil(parts.length / WEBHOOKS_PER_NOTIFY);
  return Array.from({ length: count }, (_, n) =>
    parts.slice(n * WEBHOOKS_PER_NOTIFY, (n + 1) * WEBHOOKS_PER_NOTIFY).join(','),
  );
}

export function parseWakeUp(payload: string): ParsedWakeUp {
  const parts = payload.split(',').filter((part) => part !== '');
  return {
    webhooks: parts.filter((part) => !WORDS.includes(part)) as WebhookId[],
    mail: parts.includes(MAIL),
    sweep: parts.includes(SWEEP),
  };
}
