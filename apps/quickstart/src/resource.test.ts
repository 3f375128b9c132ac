import { expect, test } from '@jest/globals';
import { Resource } from './resource.ts';

test('a value that is made after the stop has begun is released', async () => {
  let finish: (value: string) => void = () => undefined;
  const released: string[] = [];
  let wanted = true;
  const part = new Resource(
    (signal) => {
      signal.addEventListener('abort', () => (wanted = false));
      return new Promise<string>((resolve) => (finish = resolve));
    },
    async (value) => released.push(value),
  );
  const starting = part.start();
  const stopping = part.stop();
  expect(wanted).toBe(false);
  finish('server');
  await Promise.all([starting, stopping]);
  expect(released).toEqual(['server']);
});

test('a failed start releases nothing, and its value throws', async () => {
  const released: string[] = [];
  const part = new Resource<string>(
    () => Promise.reject(new Error('no')),
    async (value) => released.push(value),
  );
  await expect(part.start()).rejects.toThrow('no');
  await part.stop();
  expect(released).toEqual([]);
  expect(() => part.value).toThrow('before it was started');
});
