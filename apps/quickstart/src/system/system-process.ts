import { join } from 'node:path';
import type { Part } from '@postrider/runtime';
import type { Prerequisites } from '../prerequisites.ts';
import { Resource } from '../resource.ts';
import { logsDirOf } from '../settings.ts';
import type { Settings } from '../settings.ts';
import type { Terminal } from '../terminal.ts';
import { startChild } from './child.ts';
import { systemEnvironment } from './environment.ts';
import { choosePort, reachableHost, urlHost } from './ports.ts';

/** Names the program (`dist/all.js`), its log file, and the terminal lines that no role wrote. */
const NAME = 'all';

export interface SystemProcessParts {
  readonly settings: Settings;
  readonly prerequisites: Prerequisites;
  readonly terminal: Terminal;
  /** Path of the certificates that the worker trusts. The receiver writes it before this process starts. */
  readonly trustFile: () => string;
}

/** The process with all roles. */
export function createSystemProcess(parts: SystemProcessParts): Part {
  const { settings, prerequisites, terminal } = parts;
  return new Resource(
    async (signal) => {
      const { metricsHost } = settings;
      const port = await choosePort(settings, metricsHost, settings.metricsPort, 'METRICS_PORT');
      const options = {
        name: NAME,
        distDir: settings.distDir,
        env: {
          ...systemEnvironment(settings, prerequisites.connections(), parts.trustFile()),
          PORT: String(prerequisites.port.value),
          METRICS_PORT: String(port),
          INBOUND_SMTP_PORT: String(prerequisites.smtpPort.value),
          CONSOLE_PORT: String(prerequisites.consolePort.value),
          CONSOLE_KEYS: prerequisites.consoleKey.value.keys,
        },
        readyUrl: `http://${urlHost(reachableHost(metricsHost))}:${port}/readyz`,
        shutdownDeadlineMs: settings.shutdownDeadlineMs,
        logFile: join(logsDirOf(settings), `${NAME}.log`),
        terminal,
        onPid: (pid: number) => prerequisites.runningFile.value.noteChild(NAME, pid),
      };
      return terminal.during('starting api, relay, worker, inbound and console', () =>
        startChild(options, signal),
      );
    },
    (child) => child.stop(),
  );
}
