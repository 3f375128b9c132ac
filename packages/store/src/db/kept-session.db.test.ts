import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { cleanUpAfterEach, setupDatabase, waitFor } from '@postrider/testing';
import { keepSession } from './kept-session.ts';
import type { KeptSession } from './kept-session.ts';

const database = setupDatabase();
/** No probe falls into the test. */
const probeIntervalMs = 2 ** 31 - 1;
let session: KeptSession;

const cleanUp = cleanUpAfterEach();
afterEach(() => session.stop());

test('a session that ends is replaced before the next probe', async () => {
  const pids: number[] = [];
  const errors: Error[] = [];
  session = keepSession({
    databaseUrl: database.url,
    applicationName: 'kept',
    probeIntervalMs,
    onError: (error) => errors.push(error),
    async onConnect(client) {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      pids.push(rows[0]?.pid ?? 0);
    },
  });
  session.start();
  await waitFor(() => pids.length === 1, { what: 'the session' });
  await database.query('select pg_terminate_backend($1)', [pids[0]]);
  await waitFor(() => pids.length === 2, { what: 'the next session' });
  expect(pids[1]).not.toBe(pids[0]);
  expect(errors.map(({ message }) => message)).toContainEqual(expect.stringContaining('terminat'));
});

test('a session waits for a missing file of its URL, and for its return', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kept-session-'));
  cleanUp(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'ca.pem');
  const errors: Error[] = [];
  let connected = 0;
  session = keepSession({
    databaseUrl: `${database.url}?sslmode=disable&sslrootcert=${file}`,
    applicationName: 'kept',
    probeIntervalMs,
    onError: (error) => errors.push(error),
    onConnect: async () => void (connected += 1),
  });
  session.start();
  await waitFor(() => errors.length === 2, { what: 'the second try' });
  expect(errors[1]?.message).toContain('ENOENT');
  writeFileSync(file, '');
  await waitFor(() => connected === 1, { what: 'the session' });
});
