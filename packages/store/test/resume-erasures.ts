import type { ErasureResult, ErasureStore } from '../src/retention/erasures.ts';

/** Runs a pass over each due request, as a relay does. */
export async function resumeErasures(erasures: Pick<ErasureStore, 'resume'>): Promise<ErasureResult[]> {
  const results: ErasureResult[] = [];
  for (let next = await erasures.resume(); next !== null; next = await erasures.resume()) results.push(next);
  return results;
}
