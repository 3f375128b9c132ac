import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from '@postrider/embedded';
import { describeMachine } from '@postrider/testing';
import type { TortureArguments } from './arguments.ts';
import type { Experiment } from './harness/experiment.ts';
import { runExperiment } from './harness/run-experiment.ts';
import type { ExperimentResult } from './harness/run-experiment.ts';
import { startServers } from './harness/servers/servers.ts';
import { publish } from './report/publish.ts';
import type { NotRun, TortureResult } from './report/result.ts';
import { linesOf } from './report/terminal.ts';

/**
 * Runs the experiments one after another, prints the result of each, and writes them.
 *
 * @returns true when all held
 */
export async function torture(
  wanted: TortureArguments,
  experiments: readonly Experiment[],
): Promise<boolean> {
  const { chosen, skipped } = splitByMachine(choose(wanted, experiments));
  for (const { number, title, why } of skipped) say(`${number} ${title}: skipped, ${why}`);
  if (chosen.length === 0) {
    say('there is no such experiment that can run here; --list names them all');
    return false;
  }
  if (findRedisServer() === null) {
    say('neither redis-server nor valkey-server is on PATH: the experiments need a Redis of their own');
    return false;
  }
  say(`seed ${wanted.seed}: ${chosen.length} experiments, within ${wanted.minutes} minutes`);
  const beganAtMs = performance.now();
  const results = await runAll(chosen, wanted, beganAtMs + wanted.minutes * 60_000);
  const result: TortureResult = {
    command: wanted.command,
    seed: wanted.seed,
    percent: wanted.percent,
    chosen: chosen.length,
    passed: results.length === chosen.length && results.every((one) => one.passed),
    minutes: (performance.now() - beganAtMs) / 60_000,
    machine: { ...describeMachine(), finishedAt: new Date().toISOString() },
    experiments: results,
    notRun: experimentsNotRun(wanted, experiments, { chosen, skipped, results }),
  };
  mkdirSync(wanted.outFolder, { recursive: true });
  const file = join(wanted.outFolder, 'result.json');
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  if (wanted.publish) publish(result);
  say(summaryOf(result, file));
  return result.passed;
}

function choose({ only, long }: TortureArguments, experiments: readonly Experiment[]): readonly Experiment[] {
  if (only !== null) return experiments.filter((experiment) => only.includes(experiment.number));
  return experiments.filter((experiment) => long || experiment.runs === 'ci');
}

/** Separates the experiments that this machine can run from the others. */
function splitByMachine(wanted: readonly Experiment[]): {
  readonly chosen: readonly Experiment[];
  readonly skipped: readonly NotRun[];
} {
  const judged = wanted.map((experiment) => ({ experiment, why: experiment.lacks?.() ?? null }));
  return {
    chosen: judged.filter(({ why }) => why === null).map(({ experiment }) => experiment),
    skipped: judged.flatMap(({ experiment: { number, title }, why }) =>
      why === null ? [] : [{ number, title, why }],
    ),
  };
}

/** All experiments that did not run, each with the reason. */
export function experimentsNotRun(
  { only }: Pick<TortureArguments, 'only'>,
  experiments: readonly Experiment[],
  run: {
    readonly chosen: readonly Experiment[];
    readonly skipped: readonly NotRun[];
    readonly results: readonly Pick<ExperimentResult, 'number'>[];
  },
): NotRun[] {
  const has = (list: readonly { readonly number: number }[], { number }: Experiment): boolean =>
    list.some((one) => one.number === number);
  const notChosen = only === null ? 'it is long, and runs with `--long`' : 'it is not among `--only`';
  return experiments
    .filter((experiment) => !has(run.results, experiment))
    .map((experiment) => ({
      number: experiment.number,
      title: experiment.title,
      why:
        run.skipped.find(({ number }) => number === experiment.number)?.why ??
        (has(run.chosen, experiment) ? 'the time was over' : notChosen),
    }));
}

async function runAll(
  chosen: readonly Experiment[],
  { seed, percent, outFolder }: TortureArguments,
  endsAtMs: number,
): Promise<ExperimentResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-torture-'));
  // A signal alone would end this process without its `exit` handlers, which end the child processes.
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const servers = await startServers(folder);
  const results: ExperimentResult[] = [];
  try {
    for (const experiment of chosen) {
      if (performance.now() > endsAtMs) {
        say(`out of time: ${chosen.length - results.length} experiments did not run`);
        break;
      }
      say(`${experiment.number} ${experiment.title} …`);
      const note = (text: string): void => say(`    ${text}`);
      const result = await runExperiment(experiment, {
        servers,
        seed,
        scale: percent / 100,
        outFolder,
        note,
      });
      for (const line of linesOf(result)) say(line);
      results.push(result);
    }
  } finally {
    await servers.stop();
  }
  return results;
}

function summaryOf(result: TortureResult, file: string): string {
  const passed = result.experiments.filter((experiment) => experiment.passed).length;
  return `${passed} of ${result.chosen} held in ${result.minutes.toFixed(1)} minutes, seed ${result.seed}; written to ${file}`;
}

function say(line: string): void {
  process.stdout.write(`[torture] ${line}\n`);
}
