import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from '@postrider/embedded';
import { describeMachine } from '@postrider/testing';
import type { Cluster } from './fixture/cluster.ts';
import type { Sizes } from './sizes.ts';

/**
 * The page's facts about the machine. The load is measured before the run: it is near 0 on an idle machine.
 */
export function machineFacts(): Record<string, string> {
  const { cores, coresInAll, cpu, memoryGib, platform } = describeMachine();
  const heldTo = cores < coresInAll ? `, of the ${coresInAll} that there are` : '';
  return {
    cores: `${cores} × ${cpu}${heldTo}`,
    memory: `${memoryGib} GiB`,
    system: platform,
    'load before the run': loadavg()
      .map((load) => load.toFixed(2))
      .join(', '),
  };
}

/** @param root the repository */
export function versionFacts(root: string, cluster: Pick<Cluster, 'version'>): Record<string, string> {
  const dependency = (folder: string, name: string): string =>
    manifest(join(root, folder, 'package.json')).dependencies?.[name] ?? 'unknown';
  return {
    Postrider: `${manifest(join(root, 'package.json')).version ?? 'unknown'}${commit(root)}`,
    'Node.js': process.version,
    Postgres: cluster.version,
    Redis: redisVersion(),
    BullMQ: dependency('packages/queue', 'bullmq'),
    got: dependency('packages/outbound', 'got'),
    pg: dependency('packages/store', 'pg'),
  };
}

/** The settings that differ from the defaults or that readers ask for. */
export function configurationFacts(sizes: Sizes, cluster: Pick<Cluster, 'settings'>): Record<string, string> {
  const settings = Object.entries(cluster.settings).map(([name, value]) => `${name} = ${value}`);
  return {
    processes:
      'one relay and one worker with default settings, unless a figure says otherwise; logs at info, to files',
    Postgres: `default settings, durable: ${settings.join(', ')}`,
    Redis: 'nothing written to disk',
    network:
      'loopback; endpoints spread over 127.0.1.0/24; TLS 1.3 by Node’s defaults, a P-256 certificate for each host',
    sizes: Object.entries(sizes)
      .filter(([, value]) => typeof value === 'number')
      .map(([name, value]) => `${name} ${(value as number).toLocaleString('en')}`)
      .join(', '),
  };
}

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function manifest(file: string): Manifest {
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
}

function redisVersion(): string {
  const binary = findRedisServer();
  if (binary === null) return 'none';
  return /v=(\S+)/.exec(execFileSync(binary, ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown';
}

/** `, commit 1a2b3c4`, with a note about uncommitted changes. Empty without a git history. */
function commit(root: string): string {
  if (!existsSync(join(root, '.git'))) return '';
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', root, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ' and changes since';
    return `, commit ${git('rev-parse', '--short', 'HEAD')}${changed}`;
  } catch {
    return ''; // no git, or git refuses the repository of another user
  }
}
