import { join } from 'node:path';
import { bundleRelayAndWorker } from './build.mjs';
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
await bundleRelayAndWorker(folder, {
  alias: { bullmq: join(ROOT, 'packages/queue/node_modules/bullmq-previous') },
});
