import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, exitOnSetupError } from './bootstrap.mjs';
import { ROOT } from './workspace.mjs';

/** `npm run mutation`: Stryker in this very process, so that signals reach it. ARGS after `--` are its own. */
await exitOnSetupError(bootstrap);
process.chdir(ROOT);
const cli = join(ROOT, 'node_modules/@stryker-mutator/core/bin/stryker.js');
process.argv = [process.execPath, cli, 'run', 'stryker.config.mjs', ...process.argv.slice(2)];
await import(pathToFileURL(cli).href);
