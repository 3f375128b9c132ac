import { expect } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import type { TestDatabase } from '@postrider/testing';
import type { ErasureResult, ErasureStore } from '../src/retention/erasures.ts';
import { letTimePass } from './let-time-pass.ts';

/** Runs a pass over each due request, as a relay does. */
export async function resumeErasures(erasures: Pick<ErasureStore, 'resume'>): Promise<ErasureResult[]> {
  const results: ErasureResult[] = [];
  for (let next = await erasures.resume(); next !== null; next = await erasures.resume()) results.push(next);
  return results;
}

/** Looks again ten minutes later: every transaction open at the request has committed. */
export async function resumeErasuresLater(
  erasures: ErasureStore,
  database: TestDatabase,
): Promise<ErasureResult[]> {
  await letTimePass(database, '10 minutes');
  return resumeErasures(erasures);
}

/** What `expect` takes for a result that is not the last one. Counts that are not given are 0. */
export function unfinishedErasure(accountId: AccountId, erased: object, pending?: object): ErasureResult {
  return {
    accountId,
    requestedAt: expect.any(Date) as never,
    erased: { emails: 0, messages: 0, events: 0, attempts: 0, deadLetters: 0, ...erased },
    pending: { emails: 0, messages: 0, events: 0, deadLetters: 0, sesMail: 0, ...pending },
    pendingIds: expect.any(Array) as never,
    finished: false,
  };
}
