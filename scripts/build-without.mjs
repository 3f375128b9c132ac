import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { MECHANISMS } from '../bench/src/ablation/mechanisms.ts';
import { bundle } from './build.mjs';
import { ROOT } from './workspace.mjs';

/*
 * `node scripts/build-without.mjs FOLDER NAME...`: builds relay and worker without these mechanisms. The
 * benchmark measures the effect of each mechanism.
 */
const [folder, ...names] = process.argv.slice(2);
const unknown = names.filter((name) => !(name in MECHANISMS));
if (folder === undefined || names.length === 0 || unknown.length > 0) {
  process.stderr.write(
    `usage: node scripts/build-without.mjs FOLDER NAME...\nnames: ${Object.keys(MECHANISMS).join(', ')}\n`,
  );
  process.exit(2);
}

/** The changes of each file, by its absolute path. */
const changes = Map.groupBy(
  names.flatMap((name) => MECHANISMS[name].changes),
  ({ file }) => join(ROOT, file),
);
await bundle({
  entryPoints: { relay: 'apps/relay/src/main.ts', worker: 'apps/worker/src/main.ts' },
  outdir: resolve(folder),
  write: true,
  plugins: [{ name: 'without', setup: ({ onLoad }) => onLoad({ filter: /\.ts$/ }, load) }],
});
if (changes.size > 0) throw new Error(`not part of relay or worker: ${[...changes.keys()].join(', ')}`);

async function load({ path }) {
  const changesOfFile = changes.get(path);
  if (changesOfFile === undefined) return undefined;
  let contents = await readFile(path, 'utf8');
  for (const { from, to } of changesOfFile) {
    if (contents.split(from).length !== 2) throw new Error(`${path} has not exactly one '${from}'`);
    contents = contents.replace(from, () => to);
  }
  changes.delete(path);
  return { contents, loader: 'ts' };
}
