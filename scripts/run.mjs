import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap.mjs';
import { exitOnSetupError } from './setup-command.mjs';
import { buildIfStale, bundleOf } from './build.mjs';
import { isMain } from './workspace.mjs';

/**
 * Runs an app's bundle in this very process, as `node dist/APP.js ARGS` would, so that signals reach it.
 */
export async function runApp(app, args) {
  await exitOnSetupError(bootstrap);
  await buildIfStale();
  const bundle = bundleOf(app);
  if (!existsSync(bundle)) {
    process.stderr.write(`there is no app named "${app}"\n`);
    process.exit(2);
  }
  process.argv = [process.execPath, bundle, ...args];
  process.setSourceMapsEnabled(true);
  await import(pathToFileURL(bundle).href);
}

if (isMain(import.meta.url)) {
  const [app, ...args] = process.argv.slice(2);
  if (app === undefined) {
    process.stderr.write('usage: node scripts/run.mjs APP [ARGUMENTS]\n');
    process.exit(2);
  }
  await runApp(app, args);
}
