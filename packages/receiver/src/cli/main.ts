#!/usr/bin/env node
import { runCli } from './run.ts';

// EPIPE: the reader is gone, as behind `| head`. That is no fault to report. A full disk is one.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`postrider-receiver: stdout: ${error.message}\n`);
  process.exit(1);
});

// The command goes on when the reader of its errors is gone, as behind `2>&1 | head -1`.
process.stderr.on('error', () => undefined);

void runCli(process.argv.slice(2), {
  env: process.env,
  print: (text) => process.stdout.write(`${text}\n`),
  complain: (text) => process.stderr.write(`${text}\n`),
}).then((code) => {
  process.exitCode = code;
});
