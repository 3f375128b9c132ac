import { execFileSync } from 'node:child_process';
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning } from '@postrider/embedded';
import type { RunningPostgres } from '@postrider/embedded';
import { waitFor, withClient } from '@postrider/testing';

type Cluster = Pick<RunningPostgres, 'url' | 'pid' | 'dataDir'>;

/** Copies the files of a running cluster by the low-level backup API (manual, 26.3.4). */
export async function takeBackup({ url, dataDir }: Cluster): Promise<void> {
  const copy = folderOf(dataDir);
  rmSync(copy, { recursive: true, force: true });
  await withClient(url, async (client) => {
    await client.query(`select pg_backup_start('torture', fast => true)`);
    execFileSync('cp', ['-a', dataDir, copy]);
    const { rows } = await client.query<{ label: string }>(
      'select labelfile as label from pg_backup_stop(wait_for_archive => false)',
    );
    // Recovery needs the log up to here to bring the files to one moment.
    rmSync(join(copy, 'pg_wal'), { recursive: true });
    execFileSync('cp', ['-a', join(dataDir, 'pg_wal'), join(copy, 'pg_wal')]);
    const label = join(copy, 'backup_label');
    writeFileSync(label, rows[0]?.label ?? '');
    const { uid, gid } = statSync(dataDir); // as root, the server runs as another user
    chownSync(label, uid, gid);
    for (const file of ['postmaster.pid', 'postmaster.opts']) rmSync(join(copy, file), { force: true });
  });
}

/** @param cluster its server has been killed */
export async function putBackupBack({ pid, dataDir }: Cluster): Promise<void> {
  await waitFor(() => !isRunning(pid), { what: 'the killed Postgres to be gone', timeoutMs: 20_000 });
  // Its children end a moment later, and may still write.
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  execFileSync('cp', ['-a', folderOf(dataDir), dataDir]);
}

function folderOf(dataDir: string): string {
  return `${dataDir}.backup`;
}
