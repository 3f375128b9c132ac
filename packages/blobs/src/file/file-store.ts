import { stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobId } from '../blob-id.ts';
import { blobIdOf, isBlobId } from '../blob-id.ts';
import { blobStream } from '../blob-stream.ts';
import { BlobStoreUnavailableError } from '../blob-store.ts';
import type { BlobStore, ByteRange, OpenBlob } from '../blob-store.ts';
import { checkRange, pastEndError } from '../byte-range.ts';
import { isErrno, openIfThere, unlessMissing } from './errno.ts';
import { syncFolder } from './folders.ts';
import { listFiles } from './list-files.ts';
import { refreshDate, writeDurably } from './write-file.ts';

/**
 * Stores blobs as files, `<root>/ab/cd/abcd…`: 65,536 folders. With a hundred million blobs, each folder has
 * about 1,500. The modification time of a file is its put time. Several processes may share `root`.
 *
 * @param root absolute path; the first put makes it
 */
export function createFileStore(root: string): BlobStore {
  const pathOf = (id: BlobId): string => join(root, id.slice(0, 2), id.slice(2, 4), id);
  const syncShards = createShardSync();

  const unavailable = (cause: Error): BlobStoreUnavailableError => {
    const { code = cause.message } = cause as NodeJS.ErrnoException;
    return new BlobStoreUnavailableError(`the blob store file:${root} is not available (${code})`, { cause });
  };
  const attempt = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await work();
    } catch (error) {
      throw isErrno(error) ? unavailable(error) : error;
    }
  };

  return {
    async put(bytes) {
      const id = blobIdOf(bytes);
      await attempt(async () => {
        const path = pathOf(id);
        if (!(await refreshDate(path, bytes.length))) await writeDurably(path, bytes);
        await syncShards(dirname(path));
      });
      return id;
    },
    async open(id, range) {
      if (range !== undefined) checkRange(range);
      if (!isBlobId(id)) return null;
      return attempt(() => openFile(pathOf(id), range, unavailable));
    },
    async sizeOf(id) {
      if (!isBlobId(id)) return null;
      return attempt(() => stat(pathOf(id)).then(({ size }) => size, unlessMissing));
    },
    async read(id) {
      if (!isBlobId(id)) return null;
      return attempt(async () => {
        const handle = await openIfThere(pathOf(id), 'r');
        if (handle === null) return null;
        try {
          return await handle.readFile();
        } finally {
          await handle.close();
        }
      });
    },
    async remove(id) {
      if (isBlobId(id)) await attempt(() => unlink(pathOf(id)).catch(unlessMissing));
    },
    async *list() {
      try {
        yield* listFiles(root);
      } catch (error) {
        throw isErrno(error) ? unavailable(error) : error;
      }
    },
    close: () => undefined,
  };
}

async function openFile(
  path: string,
  range: ByteRange | undefined,
  failure: (cause: Error) => Error,
): Promise<OpenBlob | null> {
  const handle = await openIfThere(path, 'r');
  if (handle === null) return null;
  try {
    const { size } = await handle.stat();
    if (range !== undefined && range.start >= size) throw pastEndError(range);
    const source = handle.createReadStream(range === undefined ? {} : { start: range.start, end: range.end });
    return { size, stream: blobStream(source, { idleMs: null, failure }) }; // null: no time limit for a file
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Another process may have made a shard folder, `ab/cd`, without syncing its name yet. So the first put of
 * this process into a shard folder syncs both parent folders.
 */
function createShardSync(): (shard: string) => Promise<void> {
  /** Shard folders with synced names, at most 65,536. */
  const synced = new Set<string>();
  return async (shard) => {
    const key = shard.slice(-'ab/cd'.length);
    if (synced.has(key)) return;
    await syncFolder(dirname(shard));
    await syncFolder(dirname(dirname(shard)));
    synced.add(key);
  };
}
