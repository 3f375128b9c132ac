import { dirname, join } from 'node:path';
import { systemClock } from '@postrider/runtime';
import { runCli } from './run.ts';

// The program is dist/cli.js: `.data` lies beside its folder, as `npm start` makes it.
const given = (process.env['POSTRIDER_DATA_DIR'] ?? '').trim();
const dataDir = given === '' ? join(dirname(import.meta.dirname), '.data') : given;

const code = await runCli(process.argv.slice(2), {
  env: process.env,
  dataDir,
  clock: systemClock,
  stdout: process.stdout,
  stderr: process.stderr,
});

// A connection that hangs while it is closed must not hold the exit; what was written must be out before it.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
