import { createSecretBox, newId } from '@postrider/domain';
import type { AccountId, DeadLetterId, WebhookId } from '@postrider/domain';
import { createRows, createTestDatabase, systemClock } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import type { Pool } from 'pg';
import { openDatabase } from '../../src/db/database.ts';
import type { Database } from '../../src/db/database.ts';
import { createPool } from '../../src/db/pool.ts';
import { createDeadLetterStore } from '../../src/deliveries/dead-letters.ts';
import type { DeadLetterStore } from '../../src/deliveries/dead-letters.ts';
import { createDeliveryOutbox } from '../../src/deliveries/delivery-outbox.ts';
import type { DeliveryOutbox } from '../../src/deliveries/delivery-outbox.ts';
import { createDeliveryWork } from '../../src/deliveries/delivery-work.ts';
import type { DeliveryClaim, DeliveryWork } from '../../src/deliveries/delivery-work.ts';
import { createWebhookStore } from '../../src/webhooks/webhooks.ts';
import type { WebhookStore } from '../../src/webhooks/webhooks.ts';
import type { Hand } from './acts.ts';
import { prepareCopies } from './copied-history.ts';
import { rememberDeliveries } from './snapshot.ts';
import { emptyTally } from './tally.ts';
import type { Tally } from './tally.ts';

/** A job in the simulated queue, which never forgets one: every job can be worked again. */
export interface Job extends DeliveryClaim {
  /** In units: the queue holds it back until then. */
  readonly readyAt: number;
  readonly leaseExpired: boolean;
}

/** The store as api, relay and worker have it, and what they keep in their own hands. */
export interface World {
  readonly database: TestDatabase;
  readonly db: Database;
  readonly outbox: DeliveryOutbox;
  readonly work: DeliveryWork;
  readonly webhooks: WebhookStore;
  readonly deadLetters: DeadLetterStore;
  /** For what drops old events. */
  readonly retention: Pool;
  /** Two accounts. */
  readonly accounts: readonly AccountId[];
  /** Everything that was ever made, the latest last: also what has ended since. */
  jobs: Job[];
  hands: Hand[];
  registered: WebhookId[];
  letters: DeadLetterId[];
  /** Outstanding deliveries as Postgres ordered them when it was last looked at. */
  order: readonly string[];
  /** Over all runs. */
  readonly tally: Tally;
  /** Removes every row, and forgets what was made. */
  begin(): Promise<void>;
  close(): Promise<void>;
}

/** Of few rows this is much quicker than to truncate. */
const CLEAR = `
  with d as (delete from deliveries), m as (delete from deliveries_made), l as (delete from dead_letters),
       a as (delete from attempts), e as (delete from events)
  delete from webhooks`;

export async function openWorld(): Promise<World> {
  const database = await createTestDatabase();
  await rememberDeliveries(database);
  await prepareCopies(database);
  const rows = createRows(database);
  const options = { databaseUrl: database.url, size: 8, onError: () => undefined };
  const leases = createPool({
    ...options,
    applicationName: 'leases',
    durableCommits: false,
  });
  const outcomes = createPool({ ...options, applicationName: 'outcomes', durableCommits: true });
  const db = openDatabase(
    { ...options, applicationName: 'api' },
    { send: () => undefined, close: async () => undefined },
  );
  const secrets = createSecretBox([Buffer.alloc(32, 1)]);
  const world: World = {
    database,
    db,
    accounts: [await rows.account(), await rows.account()],
    outbox: createDeliveryOutbox(leases),
    work: createDeliveryWork(leases, outcomes),
    webhooks: createWebhookStore(db, secrets, systemClock),
    deadLetters: createDeadLetterStore(db),
    retention: outcomes,
    tally: emptyTally(),
    jobs: [],
    hands: [],
    registered: [],
    letters: [],
    order: [],
    async begin() {
      await database.query(CLEAR);
      for (const list of [world.jobs, world.hands, world.registered, world.letters]) list.length = 0;
      world.order = [];
    },
    close: () => closeAll(database, db, [leases, outcomes]),
  };
  return world;
}

async function closeAll(database: TestDatabase, db: Database, pools: readonly Pool[]): Promise<void> {
  await Promise.all(pools.map(async (pool) => pool.end()));
  await db.close();
  await database.drop();
}

export function newLetterId(): DeadLetterId {
  return newId('deadLetter', systemClock);
}
