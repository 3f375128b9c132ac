import { accessSync, constants, createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, createLogger, Lifecycle, messageOf } from '@postrider/runtime';
import { launcherControl } from './process-control.ts';
import { logsDirOf, readSettings, StartError } from './settings.ts';
import type { Launch, Settings } from './settings.ts';
import { addStack } from './stack.ts';
import { Terminal } from './terminal.ts';

/** The system has its own deadline. All other parts stop within this time. */
const OTHERS_STOP_MS = 40_000;

/** `npm start`: runs the whole system on this machine until Ctrl-C, and demonstrates it. */
export async function quickstart(launch: Launch): Promise<void> {
  const settings = settingsOrExit(launch);
  const terminal = new Terminal();
  const isStartedByNpm = settings.env['npm_lifecycle_event'] !== undefined;
  const lifecycle = new Lifecycle({
    logger: createLogger({
      level: 'info',
      service: 'quickstart',
      stream: createWriteStream(join(logsDirOf(settings), 'quickstart.log')),
    }),
    deadlineMs: settings.shutdownDeadlineMs + OTHERS_STOP_MS,
    control: launcherControl(isStartedByNpm),
  });
  addStack(lifecycle, settings, terminal);
  await lifecycle.run();
}

function settingsOrExit(launch: Launch): Settings {
  try {
    const settings = readSettings(launch);
    makeLogsDir(settings);
    return settings;
  } catch (error) {
    if (!(error instanceof StartError) && !(error instanceof ConfigurationError)) throw error;
    // The message of a ConfigurationError begins with `postrider all:`.
    const line = error.message.startsWith('postrider ') ? error.message : `postrider: ${error.message}`;
    process.stderr.write(`${line}\n`);
    process.exit(1);
  }
}

/** @throws StartError when the data directory is closed to this user, or is no directory. */
function makeLogsDir(settings: Settings): void {
  const logsDir = logsDirOf(settings);
  try {
    mkdirSync(logsDir, { recursive: true });
    accessSync(logsDir, constants.W_OK);
  } catch (error) {
    const fault = `cannot write below ${settings.dataDir}: ${messageOf(error)}`;
    throw new StartError(`${fault}; set POSTRIDER_DATA_DIR to another folder`, { cause: error });
  }
}
