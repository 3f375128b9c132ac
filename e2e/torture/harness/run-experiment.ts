import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from './checker/check.ts';
import type { Figures } from './checker/check.ts';
import { keyOf } from './checker/history.ts';
import type { DeliveryKey, History, PeakUse, Violation } from './checker/history.ts';
import type { Experiment } from './experiment.ts';
import type { Servers } from './servers/servers.ts';
import { TIMES } from './times.ts';
import { createWorld } from './world/create-world.ts';
import type { WorldControl } from './world/create-world.ts';
import type { Claim } from './world/world.ts';

export interface RunOptions {
  readonly servers: Servers;
  readonly seed: number;
  readonly scale: number;
  /** The folder for the evidence of a failure. */
  readonly outFolder: string;
  readonly note: (text: string) => void;
}

export interface ExperimentResult {
  readonly number: number;
  readonly title: string;
  readonly shows: string;
  readonly seed: number;
  readonly passed: boolean;
  readonly seconds: number;
  readonly figures: Figures | null;
  /** The number of attempts in flight at each fault, by its name. */
  readonly faults: readonly { readonly name: string; readonly inFlight: readonly number[] }[];
  /** The highest use of memory, files and connections, with the bounds. */
  readonly use: readonly PeakUse[];
  /** True: it compared the times of healthy endpoints before and beside trouble (I8). */
  readonly comparesNeighbours: boolean;
  readonly claims: readonly Claim[];
  readonly violations: readonly Violation[];
  /** The reason why the experiment could not run to its end. */
  readonly error: string | null;
}

/** Many times the need of a quiet machine, so that a busy one does not look like a fault. */
const RUN_WITHIN_SECONDS = 240;
const SETTLE_WITHIN_MS = 90_000;

/** Runs one experiment in its own world, waits until nothing is outstanding, and checks the history. */
export async function runExperiment(experiment: Experiment, options: RunOptions): Promise<ExperimentResult> {
  const beganAtMs = performance.now();
  const deadline = new AbortController();
  const servers = await options.servers.forExperiment(experiment);
  let control: WorldControl | null = null;
  let history: History | null = null;
  let error: string | null = null;
  try {
    control = await createWorld({
      ...options,
      ...servers,
      leaseSeconds: experiment.leaseSeconds ?? TIMES.leaseSeconds,
      signatureOffMs: experiment.signatureOffMs ?? 0,
      signal: deadline.signal,
    });
    error = await runWithin(experiment, control, deadline);
    const unrest = await control.settle(error === null ? SETTLE_WITHIN_MS : 0);
    error ??= unrest;
    history = await control.history();
  } catch (failure) {
    error ??= messageOf(failure);
  }
  const verdict = history === null ? null : check(history);
  const claims = control?.claims ?? [];
  const result: ExperimentResult = {
    number: experiment.number,
    title: experiment.title,
    shows: experiment.shows,
    seed: options.seed,
    passed: error === null && verdict?.violations.length === 0 && claims.every((claim) => claim.held),
    seconds: (performance.now() - beganAtMs) / 1000,
    figures: verdict?.figures ?? null,
    faults: faultsByName(history),
    use: history?.use ?? [],
    comparesNeighbours: (history?.neighbours.length ?? 0) > 0,
    claims,
    violations: verdict?.violations ?? [],
    error,
  };
  try {
    if (!result.passed && control !== null) keepEvidence(options.outFolder, result, history, control);
  } finally {
    try {
      await control?.close();
    } finally {
      await servers.release();
    }
  }
  return result;
}

/** @returns the reason of the failure, or null */
async function runWithin(
  experiment: Experiment,
  { world }: WorldControl,
  deadline: AbortController,
): Promise<string | null> {
  const seconds = experiment.deadlineSeconds ?? RUN_WITHIN_SECONDS;
  const late = `not done within ${seconds} s`;
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(late), seconds * 1000);
  });
  const run = experiment.run(world).then(() => null, messageOf);
  const outcome = await Promise.race([run, timeUp]);
  clearTimeout(timer);
  deadline.abort(new Error(late));
  return outcome;
}

function faultsByName(history: History | null): ExperimentResult['faults'] {
  const names = [...new Set((history?.faults ?? []).map((fault) => fault.name))];
  return names.map((name) => ({
    name,
    inFlight: (history?.faults ?? [])
      .filter((fault) => fault.name === name)
      .map((fault) => fault.inFlight.length),
  }));
}

/** Writes the result, the history of every wrong delivery, and the logs of all processes. */
function keepEvidence(
  folder: string,
  result: ExperimentResult,
  history: History | null,
  { processes }: WorldControl,
): void {
  const own = join(folder, `experiment-${String(result.number).padStart(2, '0')}`);
  mkdirSync(own, { recursive: true });
  const keys = [...new Set(result.violations.flatMap(({ key }) => key ?? []))];
  const offending = history === null ? [] : keys.map((key) => storyOf(key, history));
  writeJson(join(own, 'result.json'), { ...result, offending });
  processes.forEach((process, index) => {
    const lines = [...process.log.map((line) => JSON.stringify(line)), ...process.stderr];
    writeFileSync(join(own, `${index + 1}-${process.name}.log`), `${lines.join('\n')}\n`);
  });
}

function storyOf(key: DeliveryKey, history: History): unknown {
  return {
    key,
    receipts: history.receipts.filter((receipt) => keyOf(receipt) === key),
    attempts: history.store.attempts.filter((attempt) => keyOf(attempt) === key),
    faults: history.faults
      .filter((fault) => fault.inFlight.includes(key))
      .map(({ name, atMs, mayRepeat }) => ({ name, atMs, mayRepeat })),
  };
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}
