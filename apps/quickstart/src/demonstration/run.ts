import { createWakeUps, openDatabase } from '@postrider/store';
import type { Database } from '@postrider/store';
import { logsDirOf, StartError } from '../settings.ts';
import type { Settings } from '../settings.ts';
import type { DemonstrationFile } from '../state/demonstration-file.ts';
import { summary } from '../summary.ts';
import type { Terminal } from '../terminal.ts';
import { createApiClient } from './api-client.ts';
import type { ApiClient } from './api-client.ts';
import type { Arrivals } from './arrivals.ts';
import { ensureIdentity } from './identity.ts';
import type { Receiver } from './receiver.ts';
import { showMainJob } from './show.ts';
import { ensureWebhook } from './webhook.ts';

export interface RunParts {
  readonly settings: Settings;
  readonly terminal: Terminal;
  readonly databaseUrl: string;
  /** Of the API, without a slash at its end. */
  readonly baseUrl: string;
  readonly receiver: Receiver;
  readonly arrivals: Arrivals;
  readonly file: DemonstrationFile;
  /** Names the SECRETS_KEY of this start. */
  readonly sealedWith: string;
}

/** Makes what a customer has, lets one mail go its way, and says what to try next. */
export async function runDemonstration(parts: RunParts): Promise<void> {
  const { settings, terminal, baseUrl } = parts;
  await withDatabase(parts.databaseUrl, async (database) => {
    const { accountId, key, fresh } = await ensureIdentity(database, parts.file);
    terminal.say(
      'demo',
      fresh ? `made account ${accountId} and a key` : `account ${accountId} and its key are kept`,
    );
    await tolerating(terminal, () => show(createApiClient(baseUrl, key), database, parts));
    const mailDir = settings.sandbox ? settings.sandboxDir : null;
    terminal.print(summary({ baseUrl, accountId, key, mailDir, logsDir: logsDirOf(settings) }));
  });
}

async function show(api: ApiClient, database: Database, parts: RunParts): Promise<void> {
  const { settings, terminal, receiver, arrivals, sealedWith } = parts;
  const webhook = await ensureWebhook(api, parts.file, { endpoint: receiver.endpoint, sealedWith });
  receiver.trust(webhook.signingSecret);
  terminal.say(
    'demo',
    `${webhook.fresh ? 'registered' : 'kept'} webhook ${webhook.id} to ${webhook.endpoint}`,
  );
  if (settings.sandbox) {
    await showMainJob({ api, arrivals, database, terminal, logsDir: logsDirOf(settings) });
  } else {
    terminal.say('demo', 'MAIL_PROVIDER is a real provider: no mail is sent without being asked');
  }
}

/** What the API refuses, as a key that has used up its minute, does not end a system that runs. */
async function tolerating(terminal: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    terminal.say('demo', `cut short, while everything runs: ${error.message}`);
  }
}

async function withDatabase(databaseUrl: string, work: (database: Database) => Promise<void>): Promise<void> {
  // A connection that breaks while idle is replaced; the statement after it succeeds or throws.
  const connection = { databaseUrl, applicationName: 'postrider-quickstart', onError: () => undefined };
  const wakeUps = createWakeUps(connection);
  const database = openDatabase({ ...connection, size: 2 }, wakeUps);
  try {
    await work(database);
  } finally {
    await Promise.all([wakeUps.close(), database.close()]);
  }
}
