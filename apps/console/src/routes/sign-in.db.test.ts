import { expect, test } from '@jest/globals';
import { HttpVisitor } from '../../test/http-visitor.ts';
import { KEYS, setupConsole } from '../../test/start-console.ts';

const opened = setupConsole();

test('a wrong key is refused, and after five the log has no more of them', async () => {
  const answers = [];
  for (const key of ['a', 'b', '', KEYS.ada.toUpperCase(), 'e', 'f', 'g']) {
    answers.push(await new HttpVisitor(opened.url).post('/sign-in', { key }));
  }
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429]);
  expect(answers.every(({ text }) => text.includes('This key is not valid.'))).toBe(true);
  expect(answers.every(({ setCookie }) => setCookie === null)).toBe(true);
  expect(answers[5]?.text).toContain('Many wrong keys came from your IP address. A valid key works at once.');
  expect(Number(answers[5]?.headers['retry-after'])).toBeGreaterThan(0);
  expect(opened.log().match(/console\.sign_in_refused/g)).toHaveLength(5);
  expect(await opened.database.query('select 1 from console_sessions')).toEqual([]);
});

test('a right key signs in, however many wrong keys came from its address', async () => {
  for (let n = 0; n < 6; n += 1) await new HttpVisitor(opened.url).post('/sign-in', { key: 'wrong' });
  const { status, setCookie } = await new HttpVisitor(opened.url).post('/sign-in', { key: KEYS.ada });
  expect([status, setCookie === null]).toEqual([303, false]);
});

test('a sign-in over plain HTTP, where browsers do not name the site, is told to use HTTPS', async () => {
  const { status, text } = await new HttpVisitor(opened.url).post(
    '/sign-in',
    { key: KEYS.ada },
    { origin: 'null' },
  );
  expect([status, text.includes('The console needs HTTPS'), text.includes('another site')]).toEqual([
    403,
    true,
    false,
  ]);
});

test('a sign-in from another site is refused before the key is looked at', async () => {
  const visitor = new HttpVisitor(opened.url);
  const { status } = await visitor.post('/sign-in', { key: KEYS.ada }, { origin: 'https://evil.example' });
  expect(status).toBe(403);
});
