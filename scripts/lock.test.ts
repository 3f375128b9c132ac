import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';

// By its address: TypeScript has no types of a script.
const script = new URL('lock.mjs', import.meta.url).href;
const { withLock } = (await import(script)) as {
  withLock: <T>(root: string, name: string, work: () => Promise<T>) => Promise<T>;
};

const project = randomUUID();
const HOLD = `
  import { withLock } from '${script}';
  await withLock('${project}', 'test', () => {
    console.log(process.pid);
    return new Promise(() => setInterval(() => undefined, 1_000_000));
  });`;

(existsSync('/proc/self/stat') ? test : test.skip)(
  'a killed holder lets go of the lock, also when its parent never reaps it',
  async () => {
    const command = '"$0" --input-type=module --eval "$1" & exec tail -f /dev/null';
    const parent = spawn('/bin/sh', ['-c', command, process.execPath, HOLD]);
    try {
      const [holder] = (await once(parent.stdout, 'data')) as [Buffer];
      process.kill(Number(holder), 'SIGKILL');
      expect(await withLock(project, 'test', async () => 'done')).toBe('done');
    } finally {
      parent.kill();
    }
  },
);
