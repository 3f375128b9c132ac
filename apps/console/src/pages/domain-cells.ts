import { html } from '@remix-run/html-template';
import type { Domain } from '@postrider/store';
import { preformatted, state } from '../html/pieces.ts';
import type { Html, Sign } from '../html/pieces.ts';
import { counted, day } from '../html/words.ts';

/** SES looks for the records for 72 hours. Then it calls the domain `failed`, and looks no more. */
const SIGNS: Readonly<Record<Domain['status'], Sign>> = {
  verified: 'good',
  pending: 'wait',
  temporary_failure: 'wait',
  failed: 'bad',
};

export function domainState({ status, firstVerifiedAt }: Domain): Html {
  const verified = firstVerifiedAt === null ? 'never verified' : `first verified ${day(firstVerifiedAt)}`;
  return html`${state(SIGNS[status], status)}<span class="sub">${verified}</span>`;
}

/** The name, and the DNS records that its owner publishes, as the provider saw them last. */
export function domainName({ name, records }: Domain): Html {
  if (records.length === 0) return html`${name}`;
  const lines = records.map((record) => {
    const { type, name: at, priority, value, status } = record as Readonly<Record<string, unknown>>;
    const words = [at, type, priority, value].filter((word) => word !== undefined);
    return `${words.map(String).join(' ')} (${String(status)})`;
  });
  return html`${name}
    <details>
      <summary class="more">${counted(records.length, 'DNS record')}</summary>
      ${preformatted(lines.join('\n'), `DNS records of ${name}`)}
    </details>`;
}
