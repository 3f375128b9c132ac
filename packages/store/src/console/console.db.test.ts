import { expect, test } from '@jest/globals';
import { setupStore } from '../../test/open-store.ts';
import { createConsoleForms } from './console-forms.ts';
import { createConsoleSessions } from './console-sessions.ts';

const store = setupStore();

test('a session is found by its token until it is closed or its time is over', async () => {
  const sessions = createConsoleSessions(store.db);
  const ada = { userName: 'ada', keyDigest: Buffer.from('digest') };
  await sessions.open('token-1', ada, 12);
  await sessions.open('token-2', ada, 12);
  await sessions.open('old', ada, 0);
  expect(await sessions.find('token-1')).toEqual(ada);
  expect(await sessions.find('old')).toBeNull();
  expect(await sessions.find('token-3')).toBeNull();
  await sessions.close('token-1');
  expect([await sessions.find('token-1'), await sessions.find('token-2')]).toEqual([null, ada]);
  const stored = await store.outside.query<{ text: string }>(
    'select s::text as text from console_sessions s',
  );
  const token = Buffer.from('token-2').toString('hex');
  expect(stored.filter(({ text }) => text.includes('token-2') || text.includes(token))).toEqual([]);
});

test('of a form that arrives twice, one may act, and both get its result', async () => {
  const forms = createConsoleForms(store.db);
  const claims = await Promise.all([forms.claim('f'), forms.claim('f'), forms.claim('f')]);
  expect(claims.filter(Boolean)).toHaveLength(1);
  expect(await forms.result('f')).toBeNull();
  const result = { location: '/events/evt_1', outcome: '1 event is queued.' };
  await forms.settle('f', result);
  expect(await forms.result('f')).toEqual(result);
  await forms.giveBack('f');
  expect(await forms.claim('f')).toBe(false);
});

test('a form whose action did nothing may be sent again', async () => {
  const forms = createConsoleForms(store.db);
  expect(await forms.claim('g')).toBe(true);
  await forms.giveBack('g');
  expect(await forms.claim('g')).toBe(true);
});
