import { expect, test } from '@jest/globals';
import { closedDocument } from '../../test/document/closed-document.ts';
import { problemsPage } from './problems-page.ts';

type Operations = Readonly<Record<string, { readonly responses?: Readonly<Record<string, unknown>> }>>;

/** `POST /v1/webhooks`, for each operation whose success has a signing secret. */
function creationsWithSecret(): string[] {
  const { paths } = closedDocument() as { readonly paths: Readonly<Record<string, Operations>> };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { responses }]) => JSON.stringify(responses?.['201'] ?? '').includes('"signing_secret"'))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
}

test('the paragraph about a lost answer names every creation that shows a signing secret', () => {
  const creations = creationsWithSecret();
  expect(creations).toEqual(expect.arrayContaining(['POST /v1/webhooks', 'POST /v1/inbound/routes']));
  const [, paragraph = ''] =
    /\n(After `internal` or `not-ready`, or without an answer, .*?)\n\n/s.exec(problemsPage()) ?? [];
  for (const each of creations) expect(paragraph).toContain(`\`${each}\``);
});
