import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { processIdentity } from '../packages/embedded/src/process-state.ts';
import { withStartLock } from '../packages/embedded/src/start-lock.ts';

// Imported by its URL, because TypeScript has no types of a script.
const script = new URL('lock.mjs', import.meta.url).href;
const { withLock } = (await import(script)) as {
  withLock: <T>(root: string, name: string, work: () => Promise<T>) => Promise<T>;
};
const startLock = new URL('../packages/embedded/src/start-lock.ts', import.meta.url).href;

const project = randomUUID();
const hash = createHash('sha256').update(project).digest('hex').slice(0, 12);
const scriptsFile = join(tmpdir(), `postrider-test-${hash}.lock`);
const startFile = join(tmpdir(), `postrider-start-${hash}.lock`);

const LOCKS = [
  {
    name: 'the lock of the scripts',
    file: scriptsFile,
    hold: (work: () => Promise<string>) => withLock(project, 'test', work),
    code: `import { withLock } from '${script}'; const hold = (work) => withLock('${project}', 'test', work);`,
  },
  {
    name: 'the lock of a start',
    file: startFile,
    hold: (work: () => Promise<string>) => withStartLock(startFile, work),
    code: `import { withStartLock } from '${startLock}'; const hold = (work) => withStartLock('${startFile}', work);`,
  },
];

const HOLD = `
  await hold(() => {
    console.log(process.pid);
    return new Promise(() => setInterval(() => undefined, 1_000_000));
  });`;

/** The identity of a process that does not run: on Linux, 2^22 is the highest number. */
const DEAD = `${2 ** 22 + 1} 1`;
const done = async () => 'done';

describe.each(LOCKS)('$name', ({ file, hold, code }) => {
  const removal = `${file}.stale`;
  afterEach(() => {
    for (const each of [file, removal]) rmSync(each, { force: true });
  });

  (existsSync('/proc/self/stat') ? test : test.skip)(
    'is free when its holder was killed, also when the parent never reaps it',
    async () => {
      const command = '"$0" --input-type=module --eval "$1" & exec tail -f /dev/null';
      const parent = spawn('/bin/sh', ['-c', command, process.execPath, code + HOLD]);
      try {
        const [holder] = (await once(parent.stdout, 'data')) as [Buffer];
        process.kill(Number(holder), 'SIGKILL');
        expect(await hold(done)).toBe('done');
        expect(existsSync(file)).toBe(false);
      } finally {
        parent.kill();
      }
    },
  );

  test('of a dead process is removed by one process at a time', async () => {
    writeFileSync(file, DEAD);
    writeFileSync(removal, processIdentity(process.pid) ?? '');
    const held = hold(done); // it has tried once when it returns the promise
    expect(readFileSync(file, 'utf8')).toBe(DEAD);
    rmSync(removal);
    expect(await held).toBe('done');
  });

  test('of a dead process is removed, also when the process that was removing it died', async () => {
    writeFileSync(file, DEAD);
    writeFileSync(removal, DEAD);
    expect(await hold(done)).toBe('done');
    expect([file, removal].filter(existsSync)).toEqual([]);
  });

  test('that another process has taken meanwhile is not removed at the end', async () => {
    await hold(async () => {
      writeFileSync(file, DEAD);
      return 'done';
    });
    expect(existsSync(file)).toBe(true);
  });
});
