import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findRedisServer } from '@postrider/embedded';
import type { RunArguments } from './arguments.ts';
import { holdToCores } from './cores.ts';
import { configurationFacts, machineFacts, versionFacts } from './facts.ts';
import { openRunFixture } from './fixture/run-fixture.ts';
import { profilesPage } from './page/profiles-page.ts';
import { readProfiles } from './profile.ts';
import { startProgress } from './progress.ts';
import { writePage } from './publish.ts';
import { FIGURES } from './registry.ts';
import { figureHolds } from './result/result.ts';
import type { Result } from './result/result.ts';
import { runFigures } from './run-figures.ts';
import { FULL, QUICK } from './sizes.ts';

export interface Places {
  /** The repository. */
  readonly root: string;
  /** The folder of the product's bundles. */
  readonly bundles: string;
}

const ROUNDS = 3;
/** The time limit of ROUNDS rounds with full sizes on two cores. */
const LIMIT_SECONDS = 90 * 60;

/**
 * Runs the figures and writes result and page.
 *
 * @returns true when every figure was measured and every aim reached
 */
export async function runBenchmark(wanted: RunArguments, places: Places): Promise<boolean> {
  if (findRedisServer() === null) throw new Error('redis-server or valkey-server is needed on PATH');
  if (wanted.cores !== null) holdToCores(wanted.cores);
  const rounds = wanted.rounds ?? (wanted.quick ? 1 : ROUNDS);
  const limitFactor = Math.max(1, rounds / ROUNDS);
  const say = startProgress(LIMIT_SECONDS * limitFactor, (text) => process.stdout.write(text));
  const sizes = wanted.quick ? QUICK : FULL;
  const out = resolve(places.root, wanted.out);
  mkdirSync(out, { recursive: true });
  const profileFolder = wanted.profile ? join(out, 'profiles') : null;
  if (profileFolder !== null) rmSync(profileFolder, { recursive: true, force: true });
  const startedAt = new Date();
  const machine = machineFacts();
  say(
    `${rounds} rounds${wanted.quick ? ' of small sizes' : ''}; machine load ${machine['load before the run'] ?? ''}`,
  );

  const { without } = wanted;
  const fixture = await openRunFixture({ ...places, sizes, rounds, say, profileFolder, without });
  try {
    const figures = await runFigures(
      FIGURES.filter(({ id }) => wanted.only.includes(id)),
      {
        forFigure: (figure) => fixture.forFigure(figure),
        limitSeconds: LIMIT_SECONDS * limitFactor,
        limitFactor,
        say,
      },
    );
    const result: Result = {
      format: 1,
      command: commandOf(wanted),
      startedAt: startedAt.toISOString(),
      seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
      quick: wanted.quick,
      rounds,
      machine,
      versions: versionFacts(places.root, fixture.cluster),
      configuration: configurationFacts(sizes, fixture.cluster),
      figures,
      holds: figures.every(figureHolds),
    };
    const notes = join(places.root, 'bench', 'notes');
    const name = wanted.cores === null ? 'benchmark' : `benchmark-${wanted.cores}-cores`;
    writePage(result, { folder: out, name }, notes);
    const docs = join(places.root, 'docs');
    if (profileFolder !== null) {
      const page = profilesPage(readProfiles(profileFolder, places.bundles), result);
      for (const folder of wanted.publish ? [out, docs] : [out])
        writeFileSync(join(folder, 'profiles.md'), page);
    } else if (wanted.publish) writePage(result, { folder: docs, name }, notes);
    say(
      `${result.holds ? 'every aim is reached' : 'NOT every aim is reached'}; the page is ${join(out, `${name}.md`)}`,
    );
    return result.holds;
  } finally {
    await fixture.close();
  }
}

/** The command that repeats this run, with the arguments in a fixed order. */
function commandOf(wanted: RunArguments): string {
  const flags = [
    ...(wanted.only.length === FIGURES.length ? [] : [`--only ${wanted.only.join(',')}`]),
    ...(wanted.rounds === null ? [] : [`--rounds ${wanted.rounds}`]),
    ...(wanted.cores === null ? [] : [`--cores ${wanted.cores}`]),
    ...(wanted.quick ? ['--quick'] : []),
    ...(wanted.profile ? ['--profile'] : []),
    ...(wanted.without.length === 0 ? [] : [`--without ${wanted.without.join(',')}`]),
  ];
  return ['npm run bench', ...(flags.length === 0 ? [] : ['--', ...flags])].join(' ');
}
