import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startPostgres } from '@postrider/embedded';
import type { RunningPostgres } from '@postrider/embedded';
import { withClient } from '@postrider/testing';
import { putBackupBack, takeBackup } from './backup.ts';

const START_MS = 60_000;

let folder: string;
let postgres: RunningPostgres;

const start = (port = 0) =>
  startPostgres({ dataDir: join(folder, 'data'), durable: true, throwAway: true, port });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-backup-'));
  postgres = await start();
}, START_MS);
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

test(
  'a restore brings back what the backup had, and its sequence gives the same ids again',
  async () => {
    const { url, port } = postgres;
    const insert = (note: string): Promise<number> =>
      withClient(url, async (client) => {
        const { rows } = await client.query<{ id: number }>(
          'insert into ids (note) values ($1) returning id',
          [note],
        );
        return rows[0]?.id ?? NaN;
      });
    await withClient(url, (client) =>
      client.query('create table ids (id int generated always as identity, note text)'),
    );
    await insert('kept');
    await takeBackup(postgres);
    const lost = await insert('lost');
    postgres.kill('SIGKILL');
    await putBackupBack(postgres);
    postgres = await start(port);
    const { rows } = await withClient(url, (client) =>
      client.query<{ note: string }>('select note from ids'),
    );
    expect(rows).toEqual([{ note: 'kept' }]);
    expect(await insert('again')).toBe(lost);
  },
  START_MS,
);
