import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Migration {
  /** Begins with a timestamp, which gives the order of the migrations. */
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file, as Prisma writes it. */
  readonly checksum: string;
}

/** The first line of a file, which says how it runs. */
const HEADER = /^-- (?:no transaction|busy table|no transaction, busy table)\n/;

/** False: the file runs statement by statement. */
export function runsInTransaction({ sql }: Pick<Migration, 'sql'>): boolean {
  return !headerOf(sql).includes('no transaction');
}

/** True: the file locks a table that deliveries write. None of its statements may block others for long. */
export function locksBusyTable({ sql }: Pick<Migration, 'sql'>): boolean {
  return headerOf(sql).includes('busy table');
}

function headerOf(sql: string): string {
  return HEADER.exec(sql)?.[0] ?? '';
}

/** The program's own migrations. Each health check needs them, and reading the files takes 3 ms. */
let own: readonly Migration[] | null = null;

/** The migrations in `directory`, ordered by name. By default the program's own, which are read once. */
export function migrationFiles(directory?: string): readonly Migration[] {
  if (directory !== undefined) return readMigrations(directory);
  return (own ??= readMigrations(migrationsDirectory()));
}

function readMigrations(directory: string): Migration[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => {
      const sql = readFileSync(join(directory, entry.name, 'migration.sql'), 'utf8');
      return { name: entry.name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `prisma/migrations` in the nearest folder above. This finds it from the sources, a bundle and an image. */
function migrationsDirectory(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const candidate = join(folder, 'prisma', 'migrations');
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) throw new Error('no prisma/migrations folder above the program');
  }
}
