import type { Lifecycle, Part } from '@postrider/runtime';
import { createDemonstration } from './demonstration/demonstration.ts';
import { createPrerequisites } from './prerequisites.ts';
import type { Settings } from './settings.ts';
import { keptIn } from './summary.ts';
import { createSystemProcess } from './system/system-process.ts';
import type { Terminal } from './terminal.ts';

/**
 * Adds all parts in the order of the start. The stop is in reverse: the system, the receiver, Redis,
 * Postgres. So the system can finish while its servers still run.
 */
export function addStack(lifecycle: Lifecycle, settings: Settings, terminal: Terminal): void {
  const prerequisites = createPrerequisites(settings, terminal);
  const demonstration = createDemonstration({ settings, prerequisites, terminal });
  const trustFile = () => demonstration.receiver.value.trustFile;
  const system = createSystemProcess({ settings, prerequisites, terminal, trustFile });
  const { first, last } = farewell(terminal, () =>
    keptIn(settings.dataDir, prerequisites.postgres.value.dataDir),
  );
  lifecycle
    .add('the farewell', last) // added first, so it stops last
    .add('npm start', prerequisites.runningFile)
    .add('the API', prerequisites.port)
    .add('the SMTP port', prerequisites.smtpPort)
    .add('the console', prerequisites.consolePort)
    .add('the secrets', prerequisites.secretsKey)
    .add('the key of the console', prerequisites.consoleKey)
    .add('Postgres', prerequisites.postgres)
    .add('Redis', prerequisites.redis)
    .add('the database', prerequisites.database)
    .add('the queue', prerequisites.queue)
    .add('the receiver', demonstration.receiver)
    .add('the system', system)
    .add('the farewell', first)
    .add('the demonstration', demonstration.show);
}

/** Prints a line after the start, and the first and last line of a stop. A failed start prints no line. */
function farewell(terminal: Terminal, kept: () => string): { first: Part; last: Part } {
  let begun = false;
  return {
    first: {
      start: async () => terminal.say('start', 'api, relay, worker, inbound and console run, in one process'),
      async stop() {
        begun = true;
        terminal.say('stop', 'stopping api, relay, worker, inbound, console and the servers …');
      },
    },
    last: {
      async stop() {
        if (begun) terminal.say('stop', `stopped; the data stays in ${kept()}`);
      },
    },
  };
}
