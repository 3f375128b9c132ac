import { expect, test } from '@jest/globals';
import { Semaphore } from './semaphore.ts';

const unstarted = async () => 'unstarted';

/** A task that the test ends. */
function createTask(name: string, started: string[]) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const run = async () => {
    started.push(name);
    await ended;
    return 'done';
  };
  return { run, end };
}

test('only as many tasks run as there are slots; the others start in their order', async () => {
  const semaphore = new Semaphore(2);
  const started: string[] = [];
  const tasks = ['a', 'b', 'c', 'd', 'e'].map((name) => createTask(name, started));
  const all = tasks.map(({ run }) => semaphore.run(run));
  expect(started).toEqual(['a', 'b']);
  tasks[1]?.end();
  await all[1];
  await Promise.resolve();
  expect(started).toEqual(['a', 'b', 'c']);
  for (const { end } of tasks) end();
  await Promise.all(all);
  expect(started).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('a failed task frees its slot, and its error reaches the caller', async () => {
  const semaphore = new Semaphore(1);
  await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await semaphore.run(async () => 'done')).toBe('done');
});

test('after the stop no task starts, not even a waiting one; running tasks end', async () => {
  const stopping = new AbortController();
  const semaphore = new Semaphore(1, stopping.signal);
  const started: string[] = [];
  const task = createTask('running', started);
  const running = semaphore.run(task.run, unstarted);
  const waiting = semaphore.run(createTask('waiting', started).run, unstarted);
  const unhandled = semaphore.run(createTask('unhandled', started).run);
  stopping.abort(new Error('stopped'));
  expect(await waiting).toBe('unstarted');
  await expect(unhandled).rejects.toThrow('stopped');
  task.end();
  expect(await running).toBe('done');
  expect(await semaphore.run(createTask('late', started).run, unstarted)).toBe('unstarted');
  expect(started).toEqual(['running']);
});
