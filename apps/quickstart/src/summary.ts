import { relative, sep } from 'node:path';

export interface SummaryParts {
  readonly baseUrl: string;
  readonly accountId: string;
  readonly key: string;
  readonly logsDir: string;
  /** Where mail is received. */
  readonly smtp: { readonly host: string; readonly port: number };
  /** Null: mail goes to a real provider. */
  readonly mailDir: string | null;
}

const MAIL = {
  from: 'Postrider <hello@example.com>',
  to: 'bounced@sandbox.postrider.example',
  subject: 'Hello',
  text: 'Nobody is there.',
};

/** What to know, and what to try next, once everything runs. */
export function summary(parts: SummaryParts): string {
  const authorization = `-H 'Authorization: Bearer ${parts.key}'`;
  const lines = [
    '',
    `  API      ${parts.baseUrl}`,
    `  SMTP     ${parts.smtp.host}:${parts.smtp.port}`,
    `  key      ${parts.key}`,
    `  account  ${parts.accountId}`,
    `  logs     ${shown(parts.logsDir)}`,
    ...(parts.mailDir === null ? [] : [`  mail     ${shown(parts.mailDir)}`]),
    '',
    'Try next, in another terminal; what happens to the mail arrives here:',
    '',
    `curl -s ${parts.baseUrl}/v1/emails ${authorization} -H 'Content-Type: application/json' -d '${JSON.stringify(MAIL)}'`,
    `curl -s ${parts.baseUrl}/v1/webhooks/dead-letters ${authorization}`,
    '',
    'Ctrl-C stops everything; the data stays.',
  ];
  return lines.join('\n');
}

/** As short as it can be typed from here. */
function shown(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith(`..${sep}`) || short === '..' ? path : short;
}
