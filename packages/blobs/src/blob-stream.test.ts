import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { blobStream } from './blob-stream.ts';

const IDLE_MS = 1_000;

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'performance', 'setImmediate'] }));
afterEach(() => void jest.useRealTimers());

test('a slow reader gets a blob that has arrived as a whole', async () => {
  const source = Readable.from([Buffer.from('a small blob')]);
  const stream = blobStream(source, { idleMs: IDLE_MS, failure: (cause) => cause });
  stream.read(0); // the reader asks, and takes nothing yet
  await waitFor(() => source.readableEnded, { what: 'the end of the source' });
  jest.advanceTimersByTime(2 * IDLE_MS);
  expect(Buffer.concat((await stream.toArray()) as Buffer[]).toString()).toBe('a small blob');
});
