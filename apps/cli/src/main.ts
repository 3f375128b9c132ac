import { dirname, join } from 'node:path';
import { systemClock } from '@postrider/runtime';
import { runCli } from './run.ts';

// The program is dist/cli.js. `npm start` makes `.data` beside `dist`.
const given = (process.env['POSTRIDER_DATA_DIR'] ?? '').trim();
const dataDir = given === '' ? join(dirname(import.meta.dirname), '.data') : given;

// A command goes on when nothing reads stdout or stderr any more, as after `2>&1 | head -1`. Otherwise
// `migrate` would stop between two migrations. EPIPE is not reported. Other errors are, such as a full disk.
let isOutputLost = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && !isOutputLost) process.stderr.write(`postrider: stdout: ${error.message}\n`);
  isOutputLost = true;
});
process.stderr.on('error', () => undefined);

const code = await runCli(process.argv.slice(2), {
  env: process.env,
  dataDir,
  clock: systemClock,
  stdout: process.stdout,
  stderr: process.stderr,
});

// Exits even if a connection hangs while it closes, but only after stdout and stderr are flushed. Node calls
// this callback before it emits an error of stdout.
process.stdout.write('', () => {
  setImmediate(() => process.stderr.write('', () => process.exit(isOutputLost ? 1 : code)));
});
