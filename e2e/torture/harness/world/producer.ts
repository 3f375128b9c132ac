import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { recordEvent } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import type { CauseEntry } from '../checker/history.ts';
import type { Random } from '../random.ts';
import { inParallel, systemClock } from '@postrider/testing';
import { nowMs } from '../times.ts';
import type { ApiClient } from './api-client.ts';
import type { OpenStore } from '../../../open-store.ts';

/** Makes causes, and logs the known end of each. */
export interface Producer {
  readonly log: readonly CauseEntry[];
  /**
   * Commits causes one after the other, each with its event in the same transaction. It rolls back one in
   * twenty on purpose, after its event was recorded. @returns the ids of the committed events
   */
  record(count: number, wish?: { readonly accountId?: string }): Promise<string[]>;
  /** Like `record`, at a steady rate, until it is stopped. */
  load(wish: { readonly perSecond: number; readonly accountId?: string }): Load;
  /** Sends messages through the API, 4 at once by default. It sends each message once. */
  mail(count: number, wish: MailWish): Promise<void>;
  /** Stops all loads. */
  stop(): Promise<void>;
}

export interface MailWish {
  readonly through: ApiClient;
  readonly atOnce?: number;
  /** Starts no new message after its abort. */
  readonly until?: AbortSignal;
}

export interface Load {
  /** Stops, and waits for the causes in progress. */
  stop(): Promise<void>;
}

const ROLLED_BACK_SHARE = 0.05;
const IN_FLIGHT_MAX = 8;
/** The pause of a client after a refused connection. */
const AFTER_REFUSAL_MS = 20;

class RolledBackOnPurpose extends Error {}

export function createProducer(parts: {
  readonly store: Pick<OpenStore, 'database'>;
  readonly accountId: string;
  readonly random: Random;
  /** Ends work that would not end while no commit is possible. */
  readonly signal: AbortSignal;
}): Producer {
  const log: CauseEntry[] = [];
  const loads: Load[] = [];

  function open(kind: CauseEntry['kind'], cause: string): CauseEntry {
    const entry: CauseEntry = {
      cause,
      kind,
      outcome: 'unknown',
      id: null,
      beganAtMs: nowMs(),
      endedAtMs: NaN,
    };
    log.push(entry);
    return entry;
  }

  async function cause(accountId: string): Promise<string | null> {
    const entry = open('direct', `cause_${randomUUID()}`);
    const rollBack = parts.random.next() < ROLLED_BACK_SHARE;
    try {
      entry.id = await commitCause(parts.store, accountId as AccountId, entry.cause, rollBack);
      entry.outcome = 'ok';
      return entry.id;
    } catch (error) {
      // After any other error it is unknown whether the commit succeeded.
      if (error instanceof RolledBackOnPurpose) entry.outcome = 'failed';
      return null;
    } finally {
      entry.endedAtMs = nowMs();
    }
  }

  async function message(api: ApiClient): Promise<void> {
    const entry = open('email', `torture ${randomUUID()}`);
    const answer = await api.request('POST', '/v1/emails', {
      from: 'sender@example.com',
      to: ['recipient@example.com'],
      subject: entry.cause,
      text: 'torture',
    });
    entry.endedAtMs = nowMs();
    if (answer.outcome === 'answered' && answer.status === 200) {
      entry.outcome = 'ok';
      entry.id = (answer.body as { id: string }).id;
    } else if (answer.outcome === 'refused') {
      entry.outcome = 'failed';
      await delay(AFTER_REFUSAL_MS);
    } else if (answer.outcome === 'answered' && answer.status < 500) {
      entry.outcome = 'failed';
    }
  }

  async function stop(): Promise<void> {
    await Promise.all(loads.map((load) => load.stop()));
  }
  parts.signal.addEventListener('abort', () => void stop(), { once: true });

  return {
    log,
    async record(count, { accountId = parts.accountId } = {}) {
      const ids: string[] = [];
      while (ids.length < count) {
        parts.signal.throwIfAborted();
        const id = await cause(accountId);
        if (id !== null) ids.push(id);
      }
      return ids;
    },
    load({ perSecond, accountId = parts.accountId }) {
      const load = startLoad(() => cause(accountId), perSecond);
      loads.push(load);
      return load;
    },
    stop,
    async mail(count, { through, atOnce = 4, until = parts.signal }) {
      await inParallel({ count, concurrency: atOnce, until }, () => message(through));
    },
  };
}

async function commitCause(
  store: Pick<OpenStore, 'database'>,
  accountId: AccountId,
  cause: string,
  rollBack: boolean,
): Promise<string> {
  return store.database.transactions.run(async (tx) => {
    const eventId = await recordEvent(
      tx,
      {
        type: 'email.sent',
        accountId,
        data: { email_id: cause, from: 'sender@example.com', subject: 'torture', error: null },
      },
      systemClock,
    );
    await tx.client.$executeRawUnsafe('insert into torture.causes values ($1, $2)', cause, eventId);
    if (rollBack) throw new RolledBackOnPurpose();
    return eventId;
  });
}

/** Keeps the rate while few causes are in progress, so that they do not pile up without Postgres. */
function startLoad(cause: () => Promise<unknown>, perSecond: number): Load {
  const inFlight = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  const running = (async () => {
    const beganAtMs = performance.now();
    for (let made = 0; !stopping.signal.aborted; made += 1) {
      const waitMs = beganAtMs + (made * 1000) / perSecond - performance.now();
      if (waitMs > 0) await delay(waitMs);
      if (inFlight.size >= IN_FLIGHT_MAX) await Promise.race(inFlight);
      const one = cause().finally(() => inFlight.delete(one));
      inFlight.add(one);
    }
    await Promise.all(inFlight);
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
