import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { createTestDatabase, setup, startFaultProxy, waitFor } from '@postrider/testing';
import { startSystem } from './start-system.ts';

const PROCESSES = ['api', 'relay', 'worker', 'inbound', 'console', 'all'] as const;
const CONSOLE_KEYS = `ada:operator:${createHash('sha256').update('key').digest('hex')}`;

const opened = setup(
  async () => {
    const database = await createTestDatabase();
    const proxy = await startFaultProxy(database.url);
    const env = { CONSOLE_KEYS, DATABASE_URL: proxy.url(database.url) };
    return { proxy, system: await startSystem({ database, env }) };
  },
  async ({ proxy, system }) => {
    await system.close();
    await proxy.close();
  },
);

test('while Postgres hangs, /readyz of each process is 503 and names Postgres', async () => {
  const all = await opened.system.startAll(PROCESSES);
  const states = async () =>
    Promise.all(
      all.map(async (started) => {
        const response = await fetch(`http://127.0.0.1:${await started.port()}/readyz`);
        const { parts } = (await response.json()) as { parts?: Record<string, string> };
        return { name: started.name, status: response.status, parts };
      }),
    );
  await waitFor(async () => (await states()).every(({ status }) => status === 200), {
    what: 'each process to be ready',
  });
  opened.proxy.hold('toClient');
  const hanging = { postgres: expect.stringContaining('no answer'), migrations: 'unknown' };
  expect(await states()).toMatchObject(PROCESSES.map((name) => ({ name, status: 503, parts: hanging })));
});
