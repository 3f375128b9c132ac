import { expect, test } from '@jest/globals';
import { HttpVisitor } from '../../test/http-visitor.ts';
import { KEYS, setupConsole } from '../../test/start-console.ts';

const opened = setupConsole();

test('a wrong key is refused, and after five the address must wait, even with a right one', async () => {
  const answers = [];
  for (const key of ['a', 'b', '', KEYS.ada.toUpperCase(), 'e', KEYS.ada]) {
    answers.push(await new HttpVisitor(opened.url).post('/sign-in', { key }));
  }
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429]);
  expect(answers[0]?.text).toContain('This key is not valid.');
  expect(answers.every(({ setCookie }) => setCookie === null)).toBe(true);
  expect(Number(answers[5]?.headers['retry-after'])).toBeGreaterThan(0);
  expect(await opened.database.query('select 1 from console_sessions')).toEqual([]);
});

test('a sign-in from another site is refused before the key is looked at', async () => {
  const visitor = new HttpVisitor(opened.url);
  const { status } = await visitor.post('/sign-in', { key: KEYS.ada }, { origin: 'https://evil.example' });
  expect(status).toBe(403);
});
