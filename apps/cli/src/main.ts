import { dirname, join } from 'node:path';
import { systemClock } from '@postrider/runtime';
import { runCli } from './run.ts';

// The program is dist/cli.js. `npm start` makes `.data` beside `dist`.
const given = (process.env['POSTRIDER_DATA_DIR'] ?? '').trim();
const dataDir = given === '' ? join(dirname(import.meta.dirname), '.data') : given;

const code = await runCli(process.argv.slice(2), {
  env: process.env,
  dataDir,
  clock: systemClock,
  stdout: process.stdout,
  stderr: process.stderr,
});

// Exits even if a connection hangs while it closes, but only after stdout and stderr are flushed.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
