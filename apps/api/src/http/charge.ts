import type { RateDecision, RateLimiter } from '@postrider/domain';
import type { ApiKey } from '@postrider/store';
import { limitUnknown, overLimit } from '../problems/answers.ts';
import type { ProblemAnswer } from './answer.ts';

export type Charge = (
  key: ApiKey,
  cost: number,
) => Promise<{ readonly why: Refusal; readonly answer: ProblemAnswer } | null>;

type Refusal = Extract<RateDecision, { allowed: false }>['why'];

/**
 * Charges a request to its key (contract 8, rules 1, 2 and 4); null: it may go on.
 *
 * @param defaultLimitPerMinute the limit of a key that has none of its own.
 */
export function createCharge(limiter: RateLimiter, defaultLimitPerMinute: number): Charge {
  return async (key, cost) => {
    const limitPerMinute = key.rateLimitPerMinute ?? defaultLimitPerMinute;
    const decision = await limiter.charge(key.id, cost, limitPerMinute);
    if (decision.allowed) return null;
    const answer = decision.why === 'limit' ? overLimit : limitUnknown;
    return { why: decision.why, answer: answer(cost, limitPerMinute) };
  };
}
