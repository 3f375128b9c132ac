import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { setup } from '@postrider/testing';
import { Resend } from 'resend';
import { sdkMethods } from './resend-methods.ts';
import { ABSENT } from './resend-page.ts';
import { startSystem } from './start-system.ts';

const system = setup(
  async () => {
    const started = await startSystem({ env: { KEY_RATE_LIMIT_PER_MINUTE: '10000' } });
    await started.start('api');
    return started;
  },
  (started) => started.close(),
);

/** The names of the methods in the two tables of docs/resend.md. */
async function documented(): Promise<{ works: string[]; refused: string[] }> {
  const page = await readFile(new URL('../docs/resend.md', import.meta.url), 'utf8');
  const [, works = '', refused = ''] = page.split('\n## ');
  const names = (table: string) => [...table.matchAll(/^\| `([\w.]+)`/gm)].map(([, name = '']) => name);
  return { works: names(works), refused: names(refused) };
}

test('docs/resend.md lists every method of the SDK once, and gives a reason for each that is refused', async () => {
  const { works, refused } = await documented();
  const names = (await sdkMethods()).map(({ name }) => name);
  expect([...works, ...refused].sort()).toEqual([...names].sort());
  expect(names.length).toBeGreaterThan(130);
  const unused = Object.keys(ABSENT).filter(
    (start) => !refused.some((name) => `${name}.`.startsWith(`${start}.`)),
  );
  expect(unused).toEqual([]);
});

test('the API has a route for the methods that work, and answers the others with the 404 of no route', async () => {
  const { refused } = await documented();
  const [api] = system.processes;
  const baseUrl = `http://127.0.0.1:${await api?.port()}/v1`;
  const resend = new Resend(system.apiKey, { baseUrl });
  const unserved: string[] = [];
  for (const { name, call } of await sdkMethods()) {
    if (name === 'webhooks.verify') continue; // it makes no request
    const { error } = (await call(resend)) as { error: { status?: number; detail?: string } | null };
    if (error?.detail === 'There is no such route.') {
      expect(error.status).toBe(404);
      unserved.push(name);
    }
  }
  expect(unserved).toEqual(refused);
});
