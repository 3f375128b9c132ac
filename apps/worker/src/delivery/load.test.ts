import { beforeEach, expect, test } from '@jest/globals';
import { StoreUnavailableError } from '@postrider/store';
import type { DeliveryWork, TakenDelivery } from '@postrider/store';
import { createLoader } from './load.ts';

const JOB = { deliveryId: '1', claim: 1 };

let stopping: AbortController;

beforeEach(() => {
  stopping = new AbortController();
});

const loader = (take: DeliveryWork['take'], leaseSeconds = 30) =>
  createLoader({ take }, leaseSeconds, 1, stopping.signal);

test('while Postgres does not answer, the delivery is taken again', async () => {
  const answers = [new StoreUnavailableError('away'), new StoreUnavailableError('away'), []];
  const load = loader(async () => answerOf(answers.shift()));
  await expect(load(JOB)).resolves.toBeNull();
  expect(answers).toEqual([]);
});

test('not after a fault of one statement: its batch would wait for one locked row again and again', async () => {
  const cancelled = new StoreUnavailableError(Object.assign(new Error('cancelled'), { code: '57014' }));
  const answers = [cancelled, []];
  const load = loader(async () => answerOf(answers.shift()));
  await expect(load(JOB)).rejects.toThrow(cancelled);
  expect(answers).toHaveLength(1);
});

test('not after the worker was told to stop', async () => {
  const away = new StoreUnavailableError('away');
  const load = loader(() => Promise.reject(away), 3_600);
  const loaded = load(JOB);
  stopping.abort();
  await expect(loaded).rejects.toThrow(away);
});

test('not after the lease of the relay may have ended', async () => {
  const load = loader(() => Promise.reject(new StoreUnavailableError('away')), 0);
  await expect(load(JOB)).rejects.toThrow('away');
});

test('of a job that comes early, the lease counts from the due time', async () => {
  const taken = { deliveryId: '1', dueInMs: 5_000 } as TakenDelivery;
  const loaded = await loader(async () => [taken])(JOB);
  expect(Number(loaded?.leaseEndsAtMs) - Number(loaded?.takenAtMs)).toBeCloseTo(35_000);
});

function answerOf(answer: Error | never[] | undefined): never[] {
  if (answer instanceof Error) throw answer;
  return answer ?? [];
}
