import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWithRedis, runs } from '@postrider/testing';
import type { Experiment } from './harness/experiment.ts';
import { runExperiment } from './harness/run-experiment.ts';
import { startServers } from './harness/servers/servers.ts';
import type { Servers } from './harness/servers/servers.ts';

const SCALE = runs({ usual: 1 / 4, long: 1 });
const SEEDS = 2 ** 31;

/**
 * Runs these experiments at a quarter of their size, on one Postgres. The long run has their full size. A
 * failure names its seed, and leaves its evidence in .data/torture-short.
 */
export function testExperiments(experiments: readonly Experiment[]): void {
  describeWithRedis('torture', () => {
    let folder: string;
    let servers: Servers;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'postrider-torture-'));
      servers = await startServers(folder);
    }, 120_000);
    afterAll(async () => {
      await servers.stop();
      rmSync(folder, { recursive: true, force: true });
    }, 60_000);

    test.each(experiments.map((experiment) => ({ ...experiment, experiment })))(
      '$title: $shows',
      async ({ experiment }) => {
        const seed = Math.floor(Math.random() * SEEDS);
        const outFolder = '.data/torture-short';
        const result = await runExperiment(experiment, {
          servers,
          seed,
          scale: SCALE,
          outFolder,
          note: () => undefined,
        });
        const { error, claims, violations } = result;
        const notHeld = claims.filter((claim) => !claim.held);
        expect({ seed, error, notHeld, violations }).toEqual({
          seed,
          error: null,
          notHeld: [],
          violations: [],
        });
        expect(result.figures?.events).toBeGreaterThan(0);
      },
      runs({ usual: 420_000, long: 1_800_000 }),
    );
  });
}
