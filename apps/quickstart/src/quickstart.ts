import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, createLogger, Lifecycle } from '@postrider/runtime';
import { launcherControl } from './process-control.ts';
import { logsDirOf, readSettings, StartError } from './settings.ts';
import type { Launch, Settings } from './settings.ts';
import { addStack } from './stack.ts';
import { Terminal } from './terminal.ts';

/** The system has its own deadline. All others stop within this time. */
const OTHERS_STOP_MS = 40_000;

/** `npm start`: runs the whole system on this machine until Ctrl-C, and demonstrates it. */
export async function quickstart(launch: Launch): Promise<void> {
  const settings = settingsOrExit(launch);
  const terminal = new Terminal();
  const logsDir = logsDirOf(settings);
  mkdirSync(logsDir, { recursive: true });
  const lifecycle = new Lifecycle({
    logger: createLogger({
      level: 'info',
      service: 'quickstart',
      stream: createWriteStream(join(logsDir, 'quickstart.log')),
    }),
    deadlineMs: settings.shutdownDeadlineMs + OTHERS_STOP_MS,
    control: launcherControl(settings.env['npm_lifecycle_event'] !== undefined),
  });
  addStack(lifecycle, settings, terminal);
  await lifecycle.run();
}

function settingsOrExit(launch: Launch): Settings {
  try {
    return readSettings(launch);
  } catch (error) {
    if (!(error instanceof StartError) && !(error instanceof ConfigurationError)) throw error;
    const line = error.message.startsWith('postrider ') ? error.message : `postrider: ${error.message}`;
    process.stderr.write(`${line}\n`);
    process.exit(1);
  }
}
