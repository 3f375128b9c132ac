import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Whether Node runs the module with this `import.meta.url` itself, perhaps by a symbolic link. */
export function isMain(url) {
  const [, script] = process.argv;
  return existsSync(script ?? '') && realpathSync(script) === fileURLToPath(url);
}

/** The folders of the workspace's packages, as the `packages:` line of pnpm-workspace.yaml names them. */
export function packageFolders() {
  const [, list] = /^packages: \[(.*)\]$/m.exec(readFileSync(join(ROOT, 'pnpm-workspace.yaml'), 'utf8'));
  return list
    .split(',')
    .flatMap((pattern) => expand(pattern.trim()))
    .filter((folder) => existsSync(join(ROOT, folder, 'package.json')));
}

/** SHA-256 over the names and contents of files, given relative to the repository. A missing file counts as absent. */
export function fingerprint(files, ...more) {
  const hash = createHash('sha256');
  for (const file of [...files].sort()) {
    const path = join(ROOT, file);
    if (existsSync(path)) hash.update(`${file}\0`).update(readFileSync(path)).update('\0');
  }
  for (const text of more) hash.update(`${text}\0`);
  return hash.digest('hex');
}

function expand(pattern) {
  if (!pattern.endsWith('/*')) return [pattern];
  const parent = pattern.slice(0, -2);
  return readdirSync(join(ROOT, parent)).map((name) => `${parent}/${name}`);
}
