import { describe, expect, test } from '@jest/globals';
import { batchData, batchId, batchSchema, inBatches, jobsIn } from './batches.ts';
import { deliveryJob } from './jobs.ts';
import type { DeliveryJob, JobToAdd } from './jobs.ts';

function jobs(count: number, more: Partial<JobToAdd<DeliveryJob>> = {}): JobToAdd<DeliveryJob>[] {
  return Array.from({ length: count }, (_, n) => ({ deliveryId: String(n), claim: 0, delayMs: 0, ...more }));
}

const sizes = (...added: JobToAdd<DeliveryJob>[]) => inBatches(added).map((batch) => batch.length);

describe('a batch', () => {
  test('has at most 16, in the order of the jobs', () => {
    expect(inBatches(jobs(40)).flat()).toEqual(jobs(40));
    expect(sizes(...jobs(40))).toEqual([16, 16, 8]);
  });

  test('has neither a delayed job nor one that stays alone', () => {
    const separate = [...jobs(1, { delayMs: 1 }), ...jobs(1, { alone: true })];
    expect(sizes(...separate, ...jobs(2), ...separate, ...jobs(3), ...separate)).toEqual([
      1, 1, 5, 1, 1, 1, 1,
    ]);
  });
});

test('the number of jobs is read from the ids of batches', () => {
  expect(jobsIn([])).toBe(0);
  expect(jobsIn([batchId(['d_1_0']), batchId(['d_2_0', 'd_3_1', 'd_4_0'])])).toBe(4);
});

describe('the data of a batch', () => {
  const read = (data: unknown) => batchSchema(deliveryJob).safeParse(data).data;
  const three = jobs(3).map(({ deliveryId, claim }) => ({ deliveryId, claim }));

  test.each([1, 3])('is read as it was written: %d', (count) => {
    expect(read(batchData(three.slice(0, count)))).toEqual(three.slice(0, count));
  });

  test('is the job itself for a single job, so older workers read it', () => {
    expect(batchData(three.slice(0, 1))).toEqual({ deliveryId: '0', claim: 0 });
  });

  test.each([[{}], [null], [{ jobs: 1 }], [{ jobs: [{ deliveryId: '1' }] }]])('is not %j', (data) => {
    expect(read(data)).toBeUndefined();
  });
});
