import { apiKeyDigest, newApiKey, newId } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { Installation } from '../fixture/installation.ts';

/** Requests to an API during a measurement. */
export interface ApiTraffic {
  /**
   * Never resolves. Rejects when an answer is neither 200 nor 429. The API answers 429 when its limiter does
   * not answer in time, which may happen on busy cores.
   */
  readonly failed: Promise<never>;
  /** Makes `failed` reject. */
  readonly fail: (error: Error) => void;
  /** The number of answers, and of answers with 429. */
  readonly answers: { answered: number; refused: number };
  stop(): Promise<void>;
}

const EMAIL_EVERY = 10;
const EMAIL = JSON.stringify({
  from: 'bench@example.com',
  to: 'someone@example.com',
  subject: 'A message of the benchmark',
  text: 'x'.repeat(500),
});

/** Lists webhooks at a steady rate. Every tenth request sends mail, for an account without webhooks. */
export async function createApiTraffic(
  installation: Installation,
  { perSecond }: { readonly perSecond: number },
): Promise<ApiTraffic> {
  const api = installation.processes.find(({ name }) => name === 'api');
  if (api === undefined) throw new Error('no api runs');
  const headers = {
    authorization: `Bearer ${await addKey(installation)}`,
    'content-type': 'application/json',
  };
  const base = `http://127.0.0.1:${api.port}/v1`;
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  failed.catch(() => undefined); // the caller may stop without awaiting it
  const inFlight = new Set<Promise<void>>();
  let sent = 0;
  const answers = { answered: 0, refused: 0 };

  async function request(number: number): Promise<void> {
    const answer =
      number % EMAIL_EVERY === 0
        ? await fetch(`${base}/emails`, { method: 'POST', headers, body: EMAIL })
        : await fetch(`${base}/webhooks`, { headers });
    const text = await answer.text();
    answers.answered += 1;
    if (answer.status === 429) answers.refused += 1;
    else if (answer.status !== 200)
      throw new Error(`the api answered ${answer.status}: ${text.slice(0, 200)}`);
  }

  const timer = setInterval(() => {
    const one = request(++sent)
      .catch(fail)
      .finally(() => inFlight.delete(one));
    inFlight.add(one);
  }, 1000 / perSecond);
  return {
    failed,
    fail,
    answers,
    async stop() {
      clearInterval(timer);
      await Promise.all(inFlight);
    },
  };
}

/** A live key without a practical limit. @param account default: a new one */
export async function addKey(installation: Installation, account?: AccountId): Promise<string> {
  const key = newApiKey('live');
  await installation.database.query(
    `insert into api_keys (id, account_id, digest, kind, scopes, rate_limit_per_minute)
     values ($1, $2, $3, 'live', '{webhooks:manage,emails:send,suppressions:manage}', 1000000)`,
    [
      newId('apiKey', systemClock),
      account ?? (await installation.addAccount()),
      Buffer.from(apiKeyDigest(key)),
    ],
  );
  return key;
}
