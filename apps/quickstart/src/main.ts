import { dirname } from 'node:path';
import { quickstart } from './quickstart.ts';

// The program is dist/quickstart.js. The programs that it starts are in the same folder.
await quickstart({
  args: process.argv.slice(2),
  env: process.env,
  distDir: import.meta.dirname,
  rootDir: dirname(import.meta.dirname),
});
