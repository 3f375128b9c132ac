import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AttemptResult } from '@postrider/domain';
import { runs, untilWaitingForLock } from '@postrider/testing';
import fc from 'fast-check';
import { commandOf, protocolCommands } from '../../test/protocol/commands.ts';
import type { Model } from '../../test/protocol/commands.ts';
import { checkGuarantees } from '../../test/protocol/guarantees.ts';
import { result } from '../../test/protocol/plans.ts';
import { prepare, take } from '../../test/protocol/perform.ts';
import { quiesce } from '../../test/protocol/quiesce.ts';
import { explained } from '../../test/protocol/round.ts';
import { emptyState } from '../../test/protocol/state.ts';
import { BEGINNING, LOST_JOBS, record, STORIES } from '../../test/protocol/stories.ts';
import { openWorld } from '../../test/protocol/world.ts';
import type { World } from '../../test/protocol/world.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';

/**
 * To run one counterexample again, put here what fast-check printed with it. The orders that Postgres chooses between
 * threads are its own: one that depends on them may need several tries.
 */
const REPLAY: { seed?: number; path?: string; replayPath?: string } = {};

const FIXED_SEED = 43;
/** There are as many runs as fit, whatever the machine has to do besides. */
const RUNS_MAX = runs({ usual: 20, long: 2_000 });
const EXPLORE_MS = runs({ usual: 6_000, long: 600_000 });
/** How long fast-check looks for a smaller counterexample. */
const SHRINK_MS = 30_000;
const TIMEOUT_MS = runs({ usual: 120_000, long: 1_800_000 });

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** Once the time is up every further run passes unseen; a failure gets time of its own, to be made smaller. */
function bounded<Args extends unknown[]>(
  run: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  let endsAt = performance.now() + EXPLORE_MS;
  let failed = false;
  return async (...args) => {
    if (performance.now() > endsAt) return;
    try {
      await run(...args);
    } catch (error) {
      if (!failed) endsAt = performance.now() + SHRINK_MS;
      failed = true;
      throw error;
    }
  };
}

async function explore(parameters: { seed?: number }): Promise<void> {
  const property = fc.asyncProperty(
    protocolCommands(REPLAY.replayPath),
    fc.array(result, { minLength: 1, maxLength: 3 }),
    bounded(async (commands, answers) => {
      const model = await begun();
      await fc.asyncModelRun(() => ({ model, real: world }), commands);
      await brought(model, answers);
    }),
  );
  await fc.assert(property, { numRuns: RUNS_MAX, ...parameters, ...REPLAY });
}

async function begun(): Promise<Model> {
  await world.begin();
  const model: Model = { state: emptyState(), copied: emptyState() };
  await commandOf(BEGINNING).run(model, world);
  return model;
}

async function brought(model: Model, answers: readonly AttemptResult[]): Promise<void> {
  await checkGuarantees(world.database, await quiesce(world, model.state, answers));
}

describe('what meets in Postgres leaves there what the model says, and comes to one end', () => {
  test.each(Object.entries(STORIES))('%s', async (_, story) => {
    const model = await begun();
    await commandOf(story).run(model, world);
    await brought(model, [{ kind: 'answered', statusCode: 503 }]);
  });

  test('a take finds no row that is younger than it, and sees the end of an older one', async () => {
    const model = await begun();
    await commandOf(LOST_JOBS).run(model, world);
    const before = model.state;
    const jobs = [...world.jobs];
    const [first, second] = [...before.deliveries.keys()].sort((a, b) => Number(a) - Number(b));
    const ofSecond = before.deliveries.get(second ?? '')?.webhookId;
    const deleting = world.registered.toReversed().findIndex((webhookId) => webhookId === ofSecond);
    const { taking, recorded, deleted } = await inUndoneTransaction(world.db.pool, async (session) => {
      await session.query('select from deliveries where id = $1 for update', [first]);
      const waits = { taking: take(world, jobs, before.now) };
      await untilWaitingForLock(world.database);
      return {
        ...waits,
        recorded: await prepare(record, world, before)(),
        deleted: await prepare({ kind: 'delete', webhook: deleting, foreign: false }, world, before)(),
      };
    });
    model.state = await explained(world, before, [[(await taking).act], recorded, deleted]);
    await brought(model, [{ kind: 'answered', statusCode: 503 }]);
  });

  test('in all that, every case there is was met', () => {
    expect(Object.entries(world.tally).filter(([, times]) => times === 0)).toEqual([]);
  });
});

describe('claims, takes, finishes, lapsed leases, deletes, replays and retention, in any order and at once', () => {
  test(
    'lose nothing, give nothing twice and leave what the model says',
    () => explore({ seed: FIXED_SEED }),
    TIMEOUT_MS,
  );

  test('also in orders that were never tried before', () => explore({}), TIMEOUT_MS);
});
