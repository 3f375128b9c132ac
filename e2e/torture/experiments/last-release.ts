import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DIST } from '@postrider/testing';
import type { World } from '../harness/world/world.ts';

const ROOT = join(DIST, '..');
const BUILD_SCRIPT = join(ROOT, 'scripts', 'build-last-release.mjs');
const NAMED_IN = join(ROOT, 'prisma', 'last-release.json');

/** The last release, built from its commit. */
export interface LastRelease {
  readonly dist: string;
}

/** The reason why the last release cannot be built, or null. */
export function lacksLastRelease(): string | null {
  if (!existsSync(BUILD_SCRIPT)) return 'the sources are not here';
  try {
    execFileSync('git', ['cat-file', '-e', `${commit()}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
    return null;
  } catch {
    return "git has not the last release's commit (a shallow clone?)";
  }
}

/** Takes two minutes, once for each commit. It needs the registry of packages. */
export async function buildLastRelease(): Promise<LastRelease> {
  const folder = join(ROOT, '.data', `last-release-${commit().slice(0, 12)}`);
  await promisify(execFile)(process.execPath, [BUILD_SCRIPT, folder]);
  return { dist: join(folder, 'dist') };
}

/** Runs `postrider migrate` of a release. */
export async function migrateBy({ dist }: { readonly dist: string }, world: World): Promise<void> {
  const env = { PATH: process.env['PATH'] ?? '', DATABASE_URL: world.databaseUrl };
  await promisify(execFile)(process.execPath, [join(dist, 'cli.js'), 'migrate'], { env });
}

/** Replaces the tables by those of the last release's migrations. Keeps accounts, keys and webhooks. */
export async function installLastRelease(release: LastRelease, world: World): Promise<void> {
  await world.query('alter schema public rename to today');
  await world.query('create schema public');
  await migrateBy(release, world);
  for (const table of ['accounts', 'api_keys', 'webhooks']) {
    await world.query(
      `insert into public.${table}
       select old.* from today.${table} t, jsonb_populate_record(null::public.${table}, to_jsonb(t)) old`,
    );
  }
  await world.query('drop schema today cascade');
}

function commit(): string {
  return (JSON.parse(readFileSync(NAMED_IN, 'utf8')) as { readonly commit: string }).commit;
}
