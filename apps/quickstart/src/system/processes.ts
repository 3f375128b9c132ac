import { join } from 'node:path';
import type { Environment, Part } from '@postrider/runtime';
import type { Prerequisites } from '../prerequisites.ts';
import { Resource } from '../resource.ts';
import { logsDirOf } from '../settings.ts';
import type { Settings } from '../settings.ts';
import type { Terminal } from '../terminal.ts';
import { startChild } from './child.ts';
import { systemEnvironment, workerEnvironment } from './environment.ts';
import { givenPort, reachableHost } from './ports.ts';

/** A process's address, and its additions to the common environment. */
interface ProcessSpec {
  readonly host: string;
  readonly port: number;
  readonly env: Environment;
}

export interface ProcessesParts {
  readonly settings: Settings;
  readonly prerequisites: Prerequisites;
  readonly terminal: Terminal;
  /** The file that the receiver writes before the worker starts. */
  readonly trustFile: () => string;
}

export function createProcesses(
  parts: ProcessesParts,
): Readonly<Record<'api' | 'relay' | 'worker' | 'inbound' | 'console', Part>> {
  const { settings, prerequisites } = parts;
  const withMetrics = async (
    name: 'relay' | 'worker' | 'inbound',
    env: Environment,
  ): Promise<ProcessSpec> => {
    const host = settings.metricsHost;
    const port = await givenPort(settings, host, settings.metricsPorts[name], 'METRICS_PORT');
    return { host, port, env: { ...env, METRICS_PORT: String(port) } };
  };
  return {
    api: processPart('api', parts, async () => {
      const port = prerequisites.port.value;
      return { host: settings.host, port, env: { PORT: String(port) } };
    }),
    relay: processPart('relay', parts, () => withMetrics('relay', {})),
    worker: processPart('worker', parts, () =>
      withMetrics('worker', workerEnvironment(settings, parts.trustFile())),
    ),
    inbound: processPart('inbound', parts, () =>
      withMetrics('inbound', { INBOUND_SMTP_PORT: String(prerequisites.smtpPort.value) }),
    ),
    console: processPart('console', parts, async () => {
      const port = prerequisites.consolePort.value;
      const env = { CONSOLE_PORT: String(port), CONSOLE_KEYS: prerequisites.consoleKey.value.keys };
      return { host: settings.consoleHost, port, env };
    }),
  };
}

function processPart(name: string, parts: ProcessesParts, ownOf: () => Promise<ProcessSpec>): Part {
  const { settings, prerequisites, terminal } = parts;
  return new Resource(
    async (signal) => {
      const own = await ownOf();
      const options = {
        name,
        distDir: settings.distDir,
        env: { ...systemEnvironment(settings, prerequisites.connections()), ...own.env },
        readyUrl: `http://${reachableHost(own.host)}:${own.port}/readyz`,
        shutdownDeadlineMs: settings.shutdownDeadlineMs,
        logFile: join(logsDirOf(settings), `${name}.log`),
        terminal,
        onPid: (pid: number) => prerequisites.dataDir.value.noteChild(name, pid),
      };
      return terminal.during(`starting the ${name}`, () => startChild(options, signal));
    },
    (child) => child.stop(),
  );
}
