import type { RateDecision, RateLimiter } from '@postrider/domain';
import type { ApiKey } from '@postrider/store';
import { limitUnknown, overLimit } from '../problems/answers.ts';
import type { ProblemAnswer } from './answer.ts';

/** Resolves to null when the request may continue. */
export type Charge = (
  key: ApiKey,
  /** Null: the body holds the cost. The limiter only checks that at least 1 is left, and counts nothing. */
  cost: number | null,
) => Promise<{ readonly why: Refusal; readonly answer: ProblemAnswer } | null>;

type Refusal = Extract<RateDecision, { allowed: false }>['why'];

/** The key's limit in requests per minute. */
export type LimitOf = (key: ApiKey) => number;

/** Charges a request to its key (contract 8, rules 1, 2 and 4). */
export function createCharge(limiter: RateLimiter, limitOf: LimitOf): Charge {
  return async (key, cost) => {
    const limitPerMinute = limitOf(key);
    const decision = await (cost === null
      ? limiter.peek(key.id, limitPerMinute)
      : limiter.charge(key.id, cost, limitPerMinute));
    if (decision.allowed) return null;
    const answer = decision.why === 'limit' ? overLimit : limitUnknown;
    return { why: decision.why, answer: answer(cost, limitPerMinute) };
  };
}
