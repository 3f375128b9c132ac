import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { SANDBOX_RECIPIENT_DOMAIN } from '@postrider/domain';
import { NOTIFYING_NAMES, sandboxRecipients } from './sandbox-recipients.ts';

/** The cells of a page's tables, row by row. */
function rows(page: string): string[][] {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The event that each recipient causes, as `bounced@ email.bounced`. */
const MADE = NOTIFYING_NAMES.flatMap((name) =>
  sandboxRecipients({ to: [`${name}@${SANDBOX_RECIPIENT_DOMAIN}`], cc: [], bcc: [] }).notifications.map(
    ({ type }) => `${name}@ ${type}`,
  ),
);

test('docs/api.md has each recipient of the sandbox that reports something, and what it makes', () => {
  const written = rows('api.md').flatMap(([recipient, what]) => {
    const type = /^`email\.sent`, then `(.*)`$/.exec(what ?? '')?.[1];
    return type === undefined ? [] : [`${recipient?.replaceAll('`', '')} ${type}`];
  });
  expect(written.sort()).toEqual([...MADE].sort());
});

test('docs/events.md names for each event type that the sandbox reports its recipient', () => {
  const missing = MADE.filter((made) => {
    const [recipient, type] = made.split(' ');
    return !rows('events.md').some(
      ([types = '', when = '']) => types.includes(`\`${type}\``) && when.includes(`\`${recipient}\``),
    );
  });
  expect(missing).toEqual([]);
});
