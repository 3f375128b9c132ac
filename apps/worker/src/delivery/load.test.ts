import { expect, test } from '@jest/globals';
import { StoreUnavailableError } from '@postrider/store';
import { createLoader } from './load.ts';

const JOB = { deliveryId: '1', claim: 1 };

test('while Postgres does not answer, the delivery is taken again', async () => {
  const answers = [new StoreUnavailableError('away'), new StoreUnavailableError('away'), []];
  const load = createLoader({ take: async () => answerOf(answers.shift()) }, 30);
  await expect(load(JOB)).resolves.toBeNull();
  expect(answers).toEqual([]);
});

test('not after the lease of the relay may have ended', async () => {
  const load = createLoader({ take: () => Promise.reject(new StoreUnavailableError('away')) }, 0);
  await expect(load(JOB)).rejects.toThrow('away');
});

function answerOf(answer: Error | never[] | undefined): never[] {
  if (answer instanceof Error) throw answer;
  return answer ?? [];
}
