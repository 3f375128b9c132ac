import { ConfigurationError, createLogger, maskSecrets, messageOf } from '@postrider/runtime';
import { CommanderError } from 'commander';
import { UsageError } from './failure.ts';
import type { Io } from './io.ts';
import { createProgram } from './program.ts';

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

/** Runs `postrider ARGS`. @returns the exit code: 0 done, 1 failed, 2 wrong usage. Never rejects. */
export async function runCli(args: readonly string[], io: Io): Promise<number> {
  try {
    await createProgram(io).parseAsync([...args], { from: 'user' });
    return DONE;
  } catch (error) {
    if (error instanceof CommanderError) return reportUsage(error, io);
    if (io.env['LOG_LEVEL'] === 'debug') {
      createLogger({ level: 'debug', service: 'cli', stream: io.stderr }).debug('failed', { error });
    }
    complain(io, error instanceof ConfigurationError ? error.message : `postrider: ${messageOf(error)}`);
    return error instanceof UsageError ? WRONG_USAGE : FAILED;
  }
}

/**
 * Reports wrong usage and returns the exit code. Commander also throws after `--help` and `--version`, then
 * with code 0.
 */
function reportUsage(error: CommanderError, io: Io): number {
  if (error.exitCode === 0) return DONE;
  // Commander uses this code when `postrider account` stands without a command such as `list`.
  const isCommandMissing = error.code === 'commander.help';
  const fault = isCommandMissing ? 'a command is missing' : error.message.replace(/^error: /, '');
  complain(io, `postrider: ${fault} (see postrider --help)`);
  return WRONG_USAGE;
}

function complain(io: Io, text: string): void {
  io.stderr.write(`${maskSecrets(text).replace(/\s+/g, ' ').trim()}\n`);
}
