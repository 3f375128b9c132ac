import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { withClient } from '@postrider/testing';
import { startPrivatePostgres } from './postgres.ts';
import type { PrivatePostgres } from './postgres.ts';

const START_MS = 60_000;

let folder: string;
let postgres: PrivatePostgres;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-backup-'));
  postgres = await startPrivatePostgres(folder);
}, START_MS);
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

test(
  'a restore brings back what the backup had, and its sequence gives the same ids again',
  async () => {
    const url = await postgres.createDatabase();
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
    await postgres.backUp();
    const lost = await insert('lost');
    await postgres.restore();
    const { rows } = await withClient(url, (client) =>
      client.query<{ note: string }>('select note from ids'),
    );
    expect(rows).toEqual([{ note: 'kept' }]);
    expect(await insert('again')).toBe(lost);
  },
  START_MS,
);
