import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const fileAt = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

test('the handler in the README is that of examples/express.mjs, which a test runs', () => {
  const [, code = ''] = /```js\n(import express.*?)```/s.exec(fileAt('../README.md')) ?? [];
  expect(code.length).toBeGreaterThan(500);
  expect(fileAt('../examples/express.mjs').startsWith(code)).toBe(true);
});

test.each(['../README.md', '../../../docs/events.md', '../../../docs/verify-signatures.md'])(
  '%s says that the signature does not cover the headers with the id and the type',
  (page) => {
    const words = fileAt(page).replaceAll(/\s+/g, ' ');
    expect(words).toContain(
      '`Service-Event-Id` and `Service-Event-Type` are not covered by the signature: use `id` and `type` of the verified body.',
    );
  },
);

test.each([
  ...['../README.md', './cli/run.ts', './cli/listen.ts', '../../../CONTRIBUTING.md'],
  ...['../../../docs/guide.md', '../../../docs/verify-signatures.md'],
])('%s runs the command of the installed package only: a registry is never asked for the program', (page) => {
  const commands = fileAt(page).match(/\bnpx .*?@postrider\/receiver/g);
  expect(new Set(commands)).toEqual(new Set(['npx --no -- @postrider/receiver']));
});

test('the view for Django in docs/verify-signatures.md has no CSRF check, which would answer 403 first', () => {
  const page = fileAt('../../../docs/verify-signatures.md');
  expect(page).toMatch(/^@csrf_exempt\ndef \w+\(request\):\n.*\bverify\(.*request\.body/m);
  expect(page).toMatch(/answered 403, 419 or 422 by itself/);
});
