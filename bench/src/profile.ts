import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { basename, join } from 'node:path';

/** The used fields of a CPU profile that Node writes with --cpu-prof. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  /** The node of each sample. */
  readonly samples: readonly number[];
  /** Microseconds between a sample and the one before. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}

/**
 * A function. Lines and columns count from 0. Native code has no url; Node's modules have one like
 * `node:net`.
 */
interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** The source file of a position in a bundle. Lines and columns count from 0. */
type FindSource = (bundle: string, lineNumber: number, columnNumber: number) => string | undefined;

/** Microseconds by name. */
export type Micros = ReadonlyMap<string, number>;

const FUNCTIONS_LISTED = 40;

/**
 * Reads the profiles of a run. Writes beside each profile a text with the functions that took the most time.
 * @param folder contains one folder of profiles per figure
 * @param bundles the folder of the profiled programs
 * @returns the time by library, per figure and process
 */
export function readProfiles(folder: string, bundles: string): Map<string, Map<string, Micros>> {
  const findSource = createFindSource(bundles);
  const figures = readdirSync(folder).sort();
  return new Map(figures.map((figure) => [figure, byProcess(join(folder, figure), findSource)]));
}

/** @param folder contains one folder per process, such as `worker-2`, with one profile per thread */
function byProcess(folder: string, findSource: FindSource): Map<string, Micros> {
  const processes = new Map<string, Micros>();
  for (const label of readdirSync(folder)) {
    const threads = readdirSync(join(folder, label))
      .filter((file) => file.endsWith('.cpuprofile'))
      .map((file) => libraryTimes(readProfile(join(folder, label, file)), findSource));
    const [process = label] = label.split('-');
    processes.set(process, sum([processes.get(process) ?? new Map<string, number>(), ...threads]));
  }
  return processes;
}

/** Writes the functions that took the most time to a text beside the profile. */
function readProfile(file: string): CpuProfile {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  writeFileSync(`${file}.txt`, `${selfTimes(profile).slice(0, FUNCTIONS_LISTED).join('\n')}\n`);
  return profile;
}

function createFindSource(bundles: string): FindSource {
  const maps = new Map<string, SourceMap>();
  const read = (bundle: string): SourceMap => {
    const text = readFileSync(join(bundles, `${bundle}.map`), 'utf8');
    const map = new SourceMap(JSON.parse(text) as ConstructorParameters<typeof SourceMap>[0]);
    maps.set(bundle, map);
    return map;
  };
  return (bundle, line, column) => {
    const entry = (maps.get(bundle) ?? read(bundle)).findEntry(line, column);
    return 'originalSource' in entry ? entry.originalSource : undefined;
  };
}

/** `12.3 %  post  worker.js:120`: the share of busy time in the function itself, largest first. */
export function selfTimes(profile: CpuProfile): string[] {
  const names = new Map(
    profile.nodes.map(({ id, callFrame }) => [
      id,
      `${callFrame.functionName || '(anonymous)'}  ${basename(callFrame.url)}:${callFrame.lineNumber + 1}`,
    ]),
  );
  const micros = busyTimes(profile, (id) => names.get(id) ?? 'unknown');
  return mostFirst(micros).map(([name, percent]) => `${percent.toFixed(1).padStart(5)} %  ${name}`);
}

/**
 * The busy time by library. Native code, WebAssembly and common Node modules, such as events and buffers,
 * count for their caller. Other Node modules, the garbage collector and our code are libraries, too.
 */
export function libraryTimes(profile: CpuProfile, findSource: FindSource): Micros {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const libraries = new Map<number, string>();
  const [root] = profile.nodes;
  const waiting: [ProfileNode, string][] = root === undefined ? [] : [[root, EVENT_LOOP]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [node, caller] = next;
    const library = libraryOf(node.callFrame, findSource) ?? caller;
    libraries.set(node.id, library);
    for (const id of node.children ?? []) {
      const child = nodes.get(id);
      if (child !== undefined) waiting.push([child, library]);
    }
  }
  return busyTimes(profile, (id) => libraries.get(id) ?? EVENT_LOOP);
}

/** Code without a caller. */
const EVENT_LOOP = 'Node: event loop';

const NODE_MODULES: readonly (readonly [RegExp, string])[] = [
  [
    /^node:_?(tls|net|internal\/tls|internal\/stream_base|internal\/streams|stream)/,
    'Node: sockets, TLS, streams',
  ],
  [/^node:(fs|internal\/fs)/, 'Node: files'],
  [/^node:(_http|http|internal\/http)/, 'Node: HTTP'],
  [/^node:internal\/(crypto|modules|vm|bootstrap|process\/esm)/, 'Node: crypto and loading'],
];

/** Undefined for native code, WebAssembly and common Node modules, such as events and buffers. */
function libraryOf(
  { functionName, url, lineNumber, columnNumber }: CallFrame,
  findSource: FindSource,
): string | undefined {
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (!url.startsWith('file:')) return NODE_MODULES.find(([pattern]) => pattern.test(url))?.[1];
  const source = findSource(basename(url), lineNumber, columnNumber);
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source ?? '')?.[1] ?? 'Postrider';
}

function busyTimes({ nodes, samples, timeDeltas }: CpuProfile, nameOf: (id: number) => string): Micros {
  const idle = new Set(
    nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id),
  );
  const micros = new Map<string, number>();
  samples.forEach((id, index) => {
    if (idle.has(id)) return;
    const name = nameOf(id);
    micros.set(name, (micros.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  });
  return micros;
}

export function sum(all: readonly Micros[]): Micros {
  const micros = new Map<string, number>();
  for (const [name, value] of all.flatMap((each) => [...each]))
    micros.set(name, (micros.get(name) ?? 0) + value);
  return micros;
}

/** Percents of the whole, largest first. */
export function mostFirst(micros: Micros): [string, number][] {
  const total = [...micros.values()].reduce((before, each) => before + each, 0);
  return [...micros].sort(([, a], [, b]) => b - a).map(([name, took]) => [name, (took / total) * 100]);
}
