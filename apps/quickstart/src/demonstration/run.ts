import { agreeOnMailProvider, createWakeUps, openDatabase } from '@postrider/store';
import type { Database } from '@postrider/store';
import { logsDirOf, StartError } from '../settings.ts';
import type { Settings } from '../settings.ts';
import type { DemonstrationFile } from '../state/demonstration-file.ts';
import { summary } from '../summary.ts';
import type { Terminal } from '../terminal.ts';
import { ApiClient } from './api-client.ts';
import type { Arrivals } from './arrivals.ts';
import { ensureIdentity } from './identity.ts';
import type { Receiver } from './receiver.ts';
import { showInboundMail } from './show-inbound.ts';
import { showSentMail } from './show.ts';
import { ensureWebhook } from './webhook.ts';

export interface RunParts {
  readonly settings: Settings;
  readonly terminal: Terminal;
  readonly databaseUrl: string;
  /** The API's URL without a trailing slash. */
  readonly baseUrl: string;
  /** The SMTP server. The host is not in URL form: `::1` has no brackets. */
  readonly smtp: { readonly host: string; readonly port: number };
  /** `key` is null when the user set CONSOLE_KEYS. */
  readonly console: { readonly url: string; readonly key: string | null };
  readonly receiver: Receiver;
  readonly arrivals: Arrivals;
  readonly file: DemonstrationFile;
  /** Identifies the SECRETS_KEY of this start. */
  readonly sealedWith: string;
}

/** Makes an account, a key and a webhook, sends one mail, and prints what to try next. */
export async function runDemonstration(parts: RunParts): Promise<void> {
  const { settings, terminal, baseUrl } = parts;
  await withDatabase(parts.databaseUrl, async (database) => {
    const { accountId, key, fresh } = await ensureIdentity(database, parts.file);
    terminal.say(
      'demo',
      fresh ? `made account ${accountId} and a key` : `account ${accountId} and its key are kept`,
    );
    // The running system has stored its mail provider, so `undefined` only reads it. A real provider gets no
    // mail that the user did not ask for.
    const sandbox = (await agreeOnMailProvider(database, undefined)).name === 'sandbox';
    const api = new ApiClient(baseUrl, key);
    await tolerating(terminal, () => show(api, database, { ...parts, sandbox }));
    const mailDir = sandbox ? settings.sandboxDir : null;
    const signingSecret = parts.file.read().webhook?.signingSecret ?? 'not known yet';
    const forward = settings.forward === null ? null : { url: settings.forward.href, signingSecret };
    terminal.print(
      summary({
        baseUrl,
        accountId,
        key,
        mailDir,
        forward,
        smtp: parts.smtp,
        console: parts.console,
        logsDir: logsDirOf(settings),
      }),
    );
  });
}

async function show(
  api: ApiClient,
  database: Database,
  parts: RunParts & { readonly sandbox: boolean },
): Promise<void> {
  const { settings, terminal, receiver, arrivals, sealedWith } = parts;
  const webhook = await ensureWebhook(api, parts.file, { endpoint: receiver.endpoint, sealedWith });
  receiver.trust(webhook.signingSecret);
  terminal.say(
    'demo',
    `${webhook.fresh ? 'registered' : 'kept'} webhook ${webhook.id} to ${webhook.endpoint}`,
  );
  if (parts.sandbox) {
    const stage = { api, arrivals, database, terminal, logsDir: logsDirOf(settings) };
    if (await showSentMail(stage)) await showInboundMail(stage, parts.smtp);
  } else {
    terminal.say('demo', 'the mail provider is a real one: no mail is sent without being asked');
  }
}

/** Reports a refusal of the API, such as a used-up rate limit. The system keeps running. */
async function tolerating(terminal: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    terminal.say('demo', `cut short, while everything runs: ${error.message}`);
  }
}

async function withDatabase(databaseUrl: string, work: (database: Database) => Promise<void>): Promise<void> {
  // The pool replaces a connection that breaks while idle. The next statement succeeds or throws.
  const connection = { databaseUrl, applicationName: 'postrider-quickstart', onError: () => undefined };
  const wakeUps = createWakeUps(connection);
  const database = openDatabase({ ...connection, size: 2 }, wakeUps);
  try {
    await work(database);
  } finally {
    await Promise.all([wakeUps.close(), database.close()]);
  }
}
