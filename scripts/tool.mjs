import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap.mjs';
import { exitOnSetupError } from './setup-command.mjs';
import { ROOT } from './workspace.mjs';

/**
 * `node scripts/tool.mjs NAME ARGS`: runs the program of a package, with the Node and the packages that the
 * repository needs. It runs in this very process, so that signals reach it.
 */
await exitOnSetupError(bootstrap);
const [name, ...args] = process.argv.slice(2);
const folder = join(ROOT, 'node_modules', name);
const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const program = join(folder, typeof bin === 'string' ? bin : Object.values(bin)[0]);
process.chdir(ROOT);
process.argv = [process.execPath, program, ...args];
await import(pathToFileURL(program).href);
