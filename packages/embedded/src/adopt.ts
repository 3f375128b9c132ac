import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { clusterVersion } from './cluster.ts';
import type { Placement } from './placement.ts';
import { isPostmasterOf, readPostmaster, type Postmaster } from './postmaster-file.ts';

const POLL_MS = 10;
/** After a crash, Postgres first replays its write-ahead log. */
const READY_TIMEOUT_MS = 60_000;

/**
 * Waits until the server that already runs on this directory is ready. Returns null when no server runs.
 * Removes `postmaster.pid` when its process number belongs to another program: Postgres would not start.
 */
export async function adoptServer(place: Placement): Promise<Postmaster | null> {
  if (clusterVersion(place.dataDir) === null) return null;
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const server = readPostmaster(place.dataDir);
    if (server === null) return null;
    if (!isPostmasterOf(place.dataDir, server.pid)) {
      rmSync(join(place.dataDir, 'postmaster.pid'), { force: true });
      return null;
    }
    if (server.ready) return server;
    if (performance.now() > deadline) {
      throw new Error(`Postgres (process ${server.pid}) neither gets ready nor ends; see ${place.logFile}`);
    }
    await delay(POLL_MS);
  }
}
