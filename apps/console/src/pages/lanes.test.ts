import { expect, test } from '@jest/globals';
import type { KnownWorker, QueueIdentity } from '@postrider/store';
import { textOf } from '../../test/http-visitor.ts';
import { lanesSection } from './lanes.ts';
import type { Lanes } from './lanes.ts';

const identityOf = (kind: QueueIdentity['kind']): QueueIdentity => ({ kind, prefix: 'p', id: 'q' });
const workerOf = (kind: QueueIdentity['kind'], slots = 512): KnownWorker => ({
  number: 41,
  slots,
  queue: identityOf(kind),
  state: 'running',
  silentMs: 100,
});

function wordsOf(lanes: Partial<Lanes>, workers: readonly KnownWorker[] = []): string {
  const unread = { depths: null, identity: null, fault: null, evictionFault: null };
  return textOf(String(lanesSection({ ...unread, ...lanes }, workers)));
}

test.each([
  ['the console’s queue, without a worker', identityOf('redis'), [], 'Queue on Redis'],
  [
    'the console’s queue, with workers elsewhere',
    identityOf('postgres'),
    [workerOf('redis')],
    'Queue on Postgres',
  ],
  ['the workers’ queue, when the console’s does not answer', null, [workerOf('redis')], 'Queue on Redis'],
])('the lanes name %s', (_, identity, workers, words) => {
  expect(wordsOf({ identity }, workers)).toContain(words);
});

test('the lanes name no queue when neither the queue nor a worker says which', () => {
  expect(wordsOf({})).not.toContain('Queue on');
});

test.each([
  [63, 'fast 63 0 keeping up slow 63 0 keeping up'],
  [64, 'fast 64 0 full: add workers slow 64 0 full of failing or hanging endpoints'],
  [64, 'mail 64 0 full: waits for the mail provider'],
])('lanes with %i waiting jobs read: %s', (waiting, words) => {
  const depth = { waiting, delayed: 0 };
  expect(wordsOf({ depths: { fast: depth, slow: depth, mail: depth } })).toContain(words);
});

test('the fast lane of a large fleet holds more, and is full at half of it', () => {
  const fleet = [
    workerOf('redis', 768),
    workerOf('redis', 768),
    { ...workerOf('redis'), state: 'died' as const },
  ];
  const fastWith = (waiting: number) => {
    const depth = { waiting, delayed: 0 };
    return wordsOf({ depths: { fast: depth, slow: depth, mail: depth } }, fleet);
  };
  expect(fastWith(127)).toContain('fast 127 0 keeping up');
  expect(fastWith(128)).toContain('fast 128 0 full: add workers');
});
