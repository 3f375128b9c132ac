import { join, resolve } from 'node:path';
import { bundle } from './build.mjs';
import { ROOT } from './workspace.mjs';

/*
 * `node scripts/build-previous.mjs FOLDER`: relay and worker as they are, but with another release of BullMQ, the one before. A
 * rolling update runs both side by side.
 */
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write('usage: node scripts/build-previous.mjs FOLDER\n');
  process.exit(2);
}
await bundle({
  entryPoints: { relay: 'apps/relay/src/main.ts', worker: 'apps/worker/src/main.ts' },
  outdir: resolve(folder),
  write: true,
  alias: { bullmq: join(ROOT, 'packages/queue/node_modules/bullmq-previous') },
});
