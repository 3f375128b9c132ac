import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ROOT } from './workspace.mjs';

/*
 * `node scripts/build-last-release.mjs FOLDER`: builds the last release from git's history. Its processes go
 * into FOLDER/dist, its migrations into FOLDER/prisma. The packages of its lockfile come from the registry.
 */
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write('usage: node scripts/build-last-release.mjs FOLDER\n');
  process.exit(2);
}
const target = resolve(folder);
if (!existsSync(target)) build();

function build() {
  const { commit } = JSON.parse(readFileSync(join(ROOT, 'prisma', 'last-release.json'), 'utf8'));
  const sources = mkdtempSync(join(tmpdir(), 'postrider-last-release-'));
  const draft = `${target}.${process.pid}.new`;
  try {
    const archive = join(sources, 'sources.tar');
    execFileSync('git', ['archive', '--output', archive, commit], { cwd: ROOT });
    execFileSync('tar', ['-xf', archive, '-C', sources]);
    const script = join(sources, 'scripts', 'build.mjs');
    execFileSync(process.execPath, [script], { cwd: sources, stdio: ['ignore', 2, 2] });
    for (const part of ['dist', join('prisma', 'migrations')]) {
      cpSync(join(sources, part), join(draft, part), { recursive: true });
    }
    mkdirSync(dirname(target), { recursive: true });
    renameSync(draft, target);
  } finally {
    for (const path of [sources, draft]) rmSync(path, { recursive: true, force: true });
  }
}
