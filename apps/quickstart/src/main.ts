import { dirname } from 'node:path';
import { quickstart } from './quickstart.ts';

// NODE_USE_ENV_PROXY makes fetch ask a proxy for our own servers, too. Node prefers the lower-case name.
const noProxy = process.env['no_proxy'] === undefined ? 'NO_PROXY' : 'no_proxy';
process.env[noProxy] = [process.env[noProxy] ?? '', 'localhost', '127.0.0.1', '::1'].join(',');

// The program is dist/quickstart.js. The programs that it starts are in the same folder.
await quickstart({
  args: process.argv.slice(2),
  env: process.env,
  distDir: import.meta.dirname,
  rootDir: dirname(import.meta.dirname),
});
