import { setTimeout as delay } from 'node:timers/promises';
import type { ApiAnswer } from '../harness/world/api-client.ts';
import type { World } from '../harness/world/world.ts';

/** A customer who registers, lists and deletes webhooks, sends mail all the time, and notes every answer. */
export interface Customer {
  /** How often the answer was 503. */
  refusals(): number;
  /** Waits for one round of requests that all succeeded. */
  served(): Promise<void>;
  /** Ends it. Claims that every answer was a success, 503 or 429, and every acknowledged change was made. */
  stop(): Promise<void>;
}

const PAUSE_MS = 40;
/** After this number, each new webhook is deleted. An account may have 100. */
const KEPT_MAX = 100;
/** The harness makes no event of this type, so nothing is delivered to these webhooks. */
const TYPE = 'email.opened';

export function startCustomer(world: World): Customer {
  const statuses = new Map<string, number>();
  const acknowledged = new Set<string>();
  /** True for a webhook with an acknowledged DELETE. False: the webhook is deleted or not. */
  const deleted = new Map<string, boolean>();
  const stopping = new AbortController();
  let refusals = 0;
  let rounds = 0;

  async function ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<ApiAnswer> {
    const answer = await world.api.request(method, path, body);
    const saw = answer.outcome === 'answered' ? nameOf(answer.status, answer.body) : answer.outcome;
    statuses.set(saw, (statuses.get(saw) ?? 0) + 1);
    if (saw === '503 not-ready') refusals += 1;
    return answer;
  }

  async function round(): Promise<void> {
    const before = refusals;
    const made = await ask('POST', '/v1/webhooks', { endpoint: 'https://example.com/', events: [TYPE] });
    if (isSuccess(made)) {
      const { id } = made.body as { id: string };
      acknowledged.add(id);
      if (acknowledged.size % 2 === 0 || acknowledged.size > KEPT_MAX)
        deleted.set(id, isSuccess(await ask('DELETE', `/v1/webhooks/${id}`)));
    }
    await ask('GET', '/v1/webhooks');
    await world.producer.mail(1, { through: { ...world.api, request: ask } });
    if (refusals === before) rounds += 1;
  }

  const running = (async () => {
    while (!stopping.signal.aborted && !world.signal.aborted) {
      await round();
      await delay(PAUSE_MS);
    }
  })();

  return {
    refusals: () => refusals,
    async served() {
      const before = rounds;
      await world.until('a round of requests to succeed', () => rounds > before + 1);
    },
    async stop() {
      stopping.abort();
      await running;
      const saw = [...statuses].map(([status, times]) => `${times} ${status}`).join(', ');
      const right = [...statuses.keys()].every((status) =>
        /^(20[01]|503 not-ready|429 rate-limited)$/.test(status),
      );
      world.claim('every answer was a success, 503 not-ready or 429', right, saw);
      const rows = await world.query<{ id: string }>('select id from webhooks where removed_at is null');
      const there = new Set(rows.map(({ id }) => id));
      const lost = [...acknowledged].filter((id) => !deleted.has(id) && !there.has(id));
      const back = [...deleted].filter(([id, said]) => said && there.has(id)).map(([id]) => id);
      world.claim('every webhook that was acknowledged is there', lost.length === 0, lost.join(' '));
      world.claim('every webhook whose DELETE was acknowledged is gone', back.length === 0, back.join(' '));
    },
  };
}

function isSuccess(answer: ApiAnswer): answer is ApiAnswer & { readonly outcome: 'answered' } {
  return answer.outcome === 'answered' && answer.status < 300;
}

/** `200`, `503 not-ready` */
function nameOf(status: number, body: unknown): string {
  const type = typeof body === 'object' && body !== null && 'type' in body ? String(body.type) : '';
  return status < 300 ? String(status) : `${status} ${type.split('/').at(-1) ?? ''}`;
}
