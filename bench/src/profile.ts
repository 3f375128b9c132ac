import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A CPU profile as Node writes it with --cpu-prof, as far as it is read here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  /** The node that each sample was in. */
  readonly samples: readonly number[];
  /** Microseconds between a sample and the one before. */
  readonly timeDeltas: readonly number[];
}

const LINES = 40;

/** Writes a text with the functions that took most time beside every profile of the folder. */
export function summarizeProfiles(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.cpuprofile')) continue;
    const file = join(folder, name);
    const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
    writeFileSync(`${file}.txt`, `${selfTimes(profile).slice(0, LINES).join('\n')}\n`);
  }
}

/** `12.3 %  post  worker.js:120`: the share of the busy time that was spent in a function itself, most first. */
export function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): string[] {
  const names = new Map(
    nodes.map(({ id, callFrame }) => [
      id,
      `${callFrame.functionName || '(anonymous)'}  ${basename(callFrame.url)}:${callFrame.lineNumber + 1}`,
    ]),
  );
  const micros = new Map<string, number>();
  let total = 0;
  samples.forEach((id, index) => {
    const name = names.get(id) ?? 'unknown';
    if (name.startsWith('(idle)')) return;
    const took = timeDeltas[index] ?? 0;
    micros.set(name, (micros.get(name) ?? 0) + took);
    total += took;
  });
  return [...micros]
    .sort(([, a], [, b]) => b - a)
    .map(([name, took]) => `${((took / total) * 100).toFixed(1).padStart(5)} %  ${name}`);
}
