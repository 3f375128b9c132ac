import { afterEach, expect, test } from '@jest/globals';
import { setupDatabase, waitFor } from '@postrider/testing';
import { keepSession } from './kept-session.ts';
import type { KeptSession } from './kept-session.ts';

const database = setupDatabase();
/** No probe falls into the test. */
const probeIntervalMs = 2 ** 31 - 1;
let session: KeptSession;

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
