import { dirname, join } from 'node:path';
import { systemClock } from '@postrider/runtime';
import { runCli } from './run.ts';

// The program is dist/cli.js. `npm start` makes `.data` beside `dist`.
const given = (process.env['POSTRIDER_DATA_DIR'] ?? '').trim();
const dataDir = given === '' ? join(dirname(import.meta.dirname), '.data') : given;

// A reader that is gone, as behind `| head`, is no fault to report. A full disk is one.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`postrider: stdout: ${error.message}\n`);
  process.exit(1);
});

// A command that has begun goes on without the reader of its notes, as behind `2>&1 | head -1`.
process.stderr.on('error', () => undefined);

const code = await runCli(process.argv.slice(2), {
  env: process.env,
  dataDir,
  clock: systemClock,
  stdout: process.stdout,
  stderr: process.stderr,
});

// Exits even if a connection hangs while it closes, but only after stdout and stderr are flushed. After an
// error of stdout, the listener exits.
process.stdout.write('', (error) => {
  if (error == null) process.stderr.write('', () => process.exit(code));
});
