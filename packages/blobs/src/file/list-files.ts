import { opendir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isBlobId } from '../blob-id.ts';
import type { ListedBlob } from '../blob-store.ts';
import { unlessMissing } from './errno.ts';
import { isTemporary } from './write-file.ts';

const SHARD = /^[0-9a-f]{2}$/;
/** A put takes seconds. A crash left every temporary file that is older than a day. */
const TEMPORARY_AGE_MAX_MS = 24 * 60 * 60 * 1000;

/** Lists every blob under `root`, and removes old temporary files. */
export async function* listFiles(root: string): AsyncGenerator<ListedBlob> {
  for (const first of await shardsIn(root)) {
    for (const second of await shardsIn(join(root, first))) yield* listFolder(join(root, first, second));
  }
}

/** Lists the shard folders in a folder, at most 256. */
async function shardsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(unlessMissing);
  return (entries ?? [])
    .filter((entry) => entry.isDirectory() && SHARD.test(entry.name))
    .map(({ name }) => name);
}

async function* listFolder(folder: string): AsyncGenerator<ListedBlob> {
  const entries = await opendir(folder).catch(unlessMissing);
  if (entries === null) return;
  for await (const { name } of entries) {
    if (!isBlobId(name) && !isTemporary(name)) continue;
    const path = join(folder, name);
    const file = await stat(path).catch(unlessMissing); // another process may have removed it meanwhile
    if (file?.isFile() !== true) continue;
    if (isBlobId(name)) yield { id: name, putAt: file.mtime };
    else if (Date.now() - file.mtimeMs > TEMPORARY_AGE_MAX_MS) await rm(path, { force: true });
  }
}
