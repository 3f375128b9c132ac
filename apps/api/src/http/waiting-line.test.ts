import { expect, test } from '@jest/globals';
import { createWaitingLine } from './waiting-line.ts';
import type { Place } from './waiting-line.ts';

/** A line with small limits, and who has been admitted so far, in order. */
function gateOf(perKey: number, bytesMax: number) {
  const line = createWaitingLine({ perKey, bytesMax });
  const names: string[] = [];
  return {
    line: (name: string, key: string, bytes: number): Place => {
      const place = line.join(key, bytes);
      if (place.admitted === null) names.push(name);
      else void place.admitted.then(() => names.push(name));
      return place;
    },
    admitted: async (): Promise<string> => {
      await new Promise((resolve) => setImmediate(resolve)); // every promise that is to be kept has been
      return names.join(' ');
    },
  };
}

test('so many of one key are admitted, and others as those leave; another key is not held up', async () => {
  const { line, admitted } = gateOf(2, 100);
  const [first, second] = [line('a1', 'a', 1), line('a2', 'a', 1)];
  line('a3', 'a', 1);
  line('a4', 'a', 1);
  line('b1', 'b', 1);
  expect(await admitted()).toBe('a1 a2 b1');
  second.leave();
  expect(await admitted()).toBe('a1 a2 b1 a3');
  first.leave();
  expect(await admitted()).toBe('a1 a2 b1 a3 a4');
});

test('one that finds room is admitted at once, without a promise to wait for', () => {
  const line = createWaitingLine({ perKey: 1, bytesMax: 100 });
  expect(line.join('a', 1).admitted).toBeNull();
  expect(line.join('a', 1).admitted).toBeInstanceOf(Promise);
});

test('so many bytes are admitted; nobody overtakes one that waits for room', async () => {
  const { line, admitted } = gateOf(10, 100);
  const [large, small] = [line('large', 'a', 70), line('small', 'b', 30)];
  line('larger', 'c', 100);
  line('tiny', 'd', 1);
  expect(await admitted()).toBe('large small');
  large.leave();
  expect(await admitted()).toBe('large small');
  small.leave();
  expect(await admitted()).toBe('large small larger');
});

test('one that waits for its own key holds up nobody, however large it is', async () => {
  const { line, admitted } = gateOf(1, 100);
  line('a1', 'a', 10);
  line('a2', 'a', 100);
  line('b1', 'b', 90);
  expect(await admitted()).toBe('a1 b1');
});

test('one that leaves the line is never admitted, and those behind it move up', async () => {
  const { line, admitted } = gateOf(1, 100);
  const first = line('a1', 'a', 60);
  const impatient = line('a2', 'a', 60);
  const large = line('b1', 'b', 60);
  line('c1', 'c', 40);
  expect(await admitted()).toBe('a1');
  large.leave();
  expect(await admitted()).toBe('a1 c1');
  impatient.leave();
  first.leave();
  expect(await admitted()).toBe('a1 c1');
});

test('one that leaves twice makes room once', async () => {
  const { line, admitted } = gateOf(1, 100);
  const first = line('a1', 'a', 100);
  first.leave();
  first.leave();
  line('a2', 'a', 100);
  line('a3', 'a', 1);
  line('b1', 'b', 1);
  expect(await admitted()).toBe('a1 a2');
});
