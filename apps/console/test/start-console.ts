import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { openQueueIdentity, Producer, queueLocation } from '@postrider/queue';
import { createLogger, createMetrics, loadConfig, systemClock } from '@postrider/runtime';
import { createWakeUps, openDatabase, openReadDatabase, readiness } from '@postrider/store';
import type { Database } from '@postrider/store';
import { createRows, createTestDatabase, setup } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import { createConsole } from '../src/app.ts';
import { ConsoleServer } from '../src/server.ts';

/** The keys of two users. */
export const KEYS = { ada: 'the key of ada', kim: 'the key of kim' };

/** A running console on a database of its own. */
export interface TestConsole {
  readonly url: string;
  readonly database: TestDatabase;
  /** The console's own database, for stores. */
  readonly db: Database;
  readonly rows: Rows;
  /** Everything that it has logged so far. */
  readonly log: () => string;
  stop(): Promise<void>;
}

/** @param resultWithinMs a second click on a form waits this long for the result of the first */
export function setupConsole({ resultWithinMs = 12_000 } = {}): TestConsole {
  return setup(
    () => startConsole(resultWithinMs),
    (opened) => opened.stop(),
  );
}

async function startConsole(resultWithinMs: number): Promise<TestConsole> {
  const database = await createTestDatabase();
  const connection = { databaseUrl: database.url, applicationName: 'console-test', onError: () => undefined };
  const wakeUps = createWakeUps(connection);
  const actions = openDatabase({ ...connection, size: 3 }, wakeUps);
  const reads = openReadDatabase({ ...connection, size: 3 });
  const stream = new PassThrough();
  let log = '';
  stream.on('data', (chunk: Buffer) => (log += chunk.toString('utf8')));
  const logger = createLogger({ level: 'info', service: 'console', stream });
  const config = loadConfig('console', {
    DATABASE_URL: database.url,
    CONSOLE_KEYS: `ada:operator:${digestOf(KEYS.ada)},kim:reader:${digestOf(KEYS.kim)}`,
  });
  const queue = new Producer(queueLocation(config), () => undefined);
  const identity = openQueueIdentity(queueLocation(config), () => undefined);
  const app = createConsole({
    config,
    reads,
    actions,
    clock: systemClock,
    readiness: () => readiness(actions.pool),
    queue: {
      depth: () => queue.depth(),
      identity: () => identity.read(),
      evictionPolicy: () => queue.evictionPolicy(),
    },
    logger,
    metrics: createMetrics('console', { processMetrics: false }),
    resultWithinMs,
  });
  const server = new ConsoleServer(app);
  const port = await server.listen(0, '127.0.0.1');
  return {
    url: `http://127.0.0.1:${port}`,
    database,
    db: actions,
    rows: createRows(database),
    log: () => log,
    async stop() {
      await server.stop(5_000);
      await Promise.all([wakeUps.close(), reads.close(), actions.close(), queue.close()]);
      await database.drop();
    },
  };
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
