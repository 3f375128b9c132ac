import { dirname, join, relative, sep } from 'node:path';
import { urlHost } from './system/ports.ts';

export interface SummaryParts {
  readonly baseUrl: string;
  readonly accountId: string;
  readonly key: string;
  readonly logsDir: string;
  /** `key` is null when the user set CONSOLE_KEYS. */
  readonly console: { readonly url: string; readonly key: string | null };
  /** The SMTP server. */
  readonly smtp: { readonly host: string; readonly port: number };
  /** The sandbox's folder. Null: mail goes to a real provider. */
  readonly mailDir: string | null;
  /** The target of `--forward`, with the secret that its handler verifies. */
  readonly forward: { readonly url: string; readonly signingSecret: string } | null;
}

const MAIL = {
  from: 'Postrider <hello@example.com>',
  to: 'bounced@sandbox.postrider.example',
  subject: 'Hello',
  text: 'Nobody is there.',
};

const FORWARD =
  'Your own handler gets every event, and its answers count, with: npm start -- --forward http://localhost:8080/webhooks';

/** The text at the end of the start: addresses, the key, and commands to try. */
export function summary(parts: SummaryParts): string {
  const authorization = `-H 'Authorization: Bearer ${parts.key}'`;
  const lines = [
    '',
    `  API      ${parts.baseUrl}`,
    `  console  ${parts.console.url}`,
    `  sign in  ${parts.console.key ?? 'with a key of CONSOLE_KEYS'}`,
    `  SMTP     ${urlHost(parts.smtp.host)}:${parts.smtp.port}`,
    `  key      ${parts.key}`,
    `  account  ${parts.accountId}`,
    `  logs     ${shown(parts.logsDir)}`,
    ...(parts.mailDir === null ? [] : [`  mail     ${shown(parts.mailDir)}`]),
    ...(parts.forward === null
      ? []
      : [`  forward  ${parts.forward.url}`, `  secret   ${parts.forward.signingSecret}`]),
    '',
    'Try next, in another terminal; what happens to the mail arrives here:',
    '',
    `curl -s ${parts.baseUrl}/v1/emails ${authorization} -H 'Content-Type: application/json' -d '${JSON.stringify(MAIL)}'`,
    `curl -s ${parts.baseUrl}/v1/webhooks/dead-letters ${authorization}`,
    '',
    ...(parts.forward === null ? [FORWARD, ''] : []),
    'Ctrl-C stops everything; the data stays.',
  ];
  return lines.join('\n');
}

/**
 * The folders that keep the data. For root, the database may have a folder of its own: Postgres runs as a
 * user who cannot reach root's home.
 *
 * @param postgresDir undefined when the user's own Postgres has the database
 */
export function keptIn(dataDir: string, postgresDir = join(dataDir, 'postgres')): string {
  return [...new Set([dataDir, dirname(postgresDir)])].join(' and ');
}

/** The shorter of the absolute path and the path from the current folder. */
function shown(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith(`..${sep}`) || short === '..' ? path : short;
}
