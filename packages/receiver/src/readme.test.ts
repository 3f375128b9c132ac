import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const fileAt = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

test('the handler in the README is that of examples/express.mjs, which a test runs', () => {
  const [, code = ''] = /```js\n(import express.*?)```/s.exec(fileAt('../README.md')) ?? [];
  expect(code.length).toBeGreaterThan(500);
  expect(fileAt('../examples/express.mjs').startsWith(code)).toBe(true);
});
