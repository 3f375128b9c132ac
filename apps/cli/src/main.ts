import { dirname, join } from 'node:path';
import { systemClock } from '@postrider/runtime';
import { runCli } from './run.ts';

// The program is dist/cli.js. `npm start` makes `.data` beside `dist`.
const given = (process.env['POSTRIDER_DATA_DIR'] ?? '').trim();
const dataDir = given === '' ? join(dirname(import.meta.dirname), '.data') : given;

// EPIPE: the reader has gone, as after `| head`. It is not reported. Other errors are, such as a full disk.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`postrider: stdout: ${error.message}\n`);
  process.exit(1);
});

// A command goes on when stderr has no reader any more, as after `2>&1 | head -1`.
process.stderr.on('error', () => undefined);

const code = await runCli(process.argv.slice(2), {
  env: process.env,
  dataDir,
  clock: systemClock,
  stdout: process.stdout,
  stderr: process.stderr,
});

// Exits even if a connection hangs while it closes, but only after stdout and stderr are flushed. After an
// error of stdout, its listener above exits.
process.stdout.write('', (error) => {
  if (error == null) process.stderr.write('', () => process.exit(code));
});
