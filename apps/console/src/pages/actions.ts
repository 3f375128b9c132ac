import { html } from '@remix-run/html-template';
import type { ApiKey, AuditAction, ListedAuditEntry } from '@postrider/store';
import { idLink, section, time } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { pagePath } from '../html/links.ts';
import { counted } from '../html/words.ts';

type Words = string | ((rows: number, isCut: boolean) => string);

const WORDS: Readonly<Record<AuditAction, Words>> = {
  'account.create': 'made the account',
  'account.erase': 'erased the data of an address',
  'account.limit': 'changed a limit',
  'account.resume': 'resumed the account',
  'account.suspend': 'suspended the account',
  'account.update': 'changed the account',
  'dead-letters.replay': (rows) => `replayed ${counted(rows, 'dead letter')}`,
  'domain.release': 'released a domain',
  'event.replay': (rows) => `replayed ${counted(rows, 'event')}`,
  'installation.set': 'changed the installation',
  'key.create': 'created a key',
  'key.revoke': 'revoked a key',
  'message.release': 'released a held message',
  'recovery.start': (rows, isCut) =>
    `started a recovery of ${isCut ? 'more than ' : ''}${counted(rows, 'event')}`,
  'recovery.stop': 'stopped a recovery',
  'secrets.reseal': (rows) => `sealed the secrets of ${counted(rows, 'webhook')} again`,
  'suppression.remove': 'removed a suppression',
  'webhook.delete': 'deleted a webhook',
};

/** How a person or a key acted. */
export const ACTED_THROUGH: Readonly<Record<ListedAuditEntry['actorKind'], string>> = {
  cli: 'on the command line',
  key: 'through the API',
  console: 'in the console',
};

/** The latest actions on an account, in sentences. @param allPath leads to all actions */
export function actionsSection(
  entries: readonly ListedAuditEntry[],
  keys: readonly ApiKey[],
  allPath: string,
  now: Date,
): Html {
  const lines = entries.map((entry) => {
    const words = WORDS[entry.action];
    const isDeleted = entry.action === 'webhook.delete';
    const isThisAccount = entry.target === entry.accountId;
    const path = isDeleted || isThisAccount ? null : pagePath(entry.target);
    return html`<li>
      ${time(entry.createdAt, now, 'minutes')} <b>${actorOf(entry, keys)}</b>
      ${typeof words === 'string' ? words : words(entry.count, entry.after?.['has_more'] === true)}
      ${path === null ? null : idLink(entry.target, path)}
    </li>`;
  });
  const list =
    lines.length === 0
      ? html`<p class="soft">Nobody has acted on this account yet.</p>`
      : html`<ul aria-labelledby="actions">
          ${lines}
        </ul>`;
  const side = html`<p class="small"><a href="${allPath}">Show all</a></p>`;
  return section('actions', { title: 'Recent actions', side }, html`<div class="card pad">${list}</div>`);
}

function actorOf({ actorKind, actor }: ListedAuditEntry, keys: readonly ApiKey[]): string {
  if (actorKind !== 'key') return actor;
  return `key ${keys.find(({ id }) => id === actor)?.name ?? actor}`;
}
