import { beforeEach, expect, test } from '@jest/globals';
import { ACTOR, untilWaitingForLock } from '@postrider/testing';
import { hookedPool } from '../../test/hooked-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { agreeOnMailProvider, MAIL_PROVIDERS, setMailProvider } from './installation.ts';

const store = setupStore();
beforeEach(() => store.outside.query('truncate installation, audit'));

const kept = () => store.outside.query('select mail_provider from installation');
const changes = () => store.outside.query('select before, after from audit order by id');

test('a process that names no provider uses the stored one, or else the sandbox, and stores nothing', async () => {
  expect(await agreeOnMailProvider(store.db, undefined)).toEqual({ name: 'sandbox', origin: 'default' });
  expect(await kept()).toEqual([]);
});

test.each(MAIL_PROVIDERS)(
  'the first process that names %s decides for those that name none',
  async (name) => {
    expect(await agreeOnMailProvider(store.db, name)).toEqual({ name, origin: 'environment' });
    expect(await agreeOnMailProvider(store.db, undefined)).toEqual({ name, origin: 'kept' });
    expect(await agreeOnMailProvider(store.db, name)).toEqual({ name, origin: 'environment' });
    expect(await kept()).toEqual([{ mail_provider: name }]);
  },
);

test('a process that names another provider fails with the command to change it, and changes nothing', async () => {
  await agreeOnMailProvider(store.db, 'sandbox');
  await expect(agreeOnMailProvider(store.db, 'ses')).rejects.toThrow(
    'MAIL_PROVIDER is ses, and this installation keeps sandbox; to change that, run ' +
      '`postrider installation set mail-provider ses`, then restart every API, worker and inbound process',
  );
  expect(await kept()).toEqual([{ mail_provider: 'sandbox' }]);
});

test('when processes name different providers at once, exactly one is stored', async () => {
  const given = Array.from({ length: 9 }, (_, index) => MAIL_PROVIDERS[index % 3] ?? 'ses');
  const results = await Promise.allSettled(given.map((name) => agreeOnMailProvider(store.db, name)));
  const [row, ...others] = await kept();
  expect(others).toEqual([]);
  const agreed = results.map((result) => (result.status === 'fulfilled' ? result.value.name : null));
  expect(agreed).toEqual(given.map((name) => (name === row?.['mail_provider'] ? name : null)));
});

test('setMailProvider stores the provider and returns the earlier one', async () => {
  expect(await setMailProvider(store.db, 'smtp', ACTOR)).toBeNull();
  expect(await setMailProvider(store.db, 'ses', ACTOR)).toBe('smtp');
  expect(await agreeOnMailProvider(store.db, undefined)).toMatchObject({ name: 'ses' });
  await expect(agreeOnMailProvider(store.db, 'smtp')).rejects.toThrow('set mail-provider smtp');
});

test('setMailProvider replaces the provider that a process stores meanwhile', async () => {
  const { setting } = await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query(`insert into installation (mail_provider) values ('ses')`);
    const started = setMailProvider(store.db, 'smtp', ACTOR);
    await untilWaitingForLock(store.outside);
    await session.query('commit');
    return { setting: started };
  });
  expect(await setting).toBe('ses');
  expect(await kept()).toEqual([{ mail_provider: 'smtp' }]);
  expect(await changes()).toEqual([{ before: { value: 'ses' }, after: { value: 'smtp' } }]);
});

test('two calls of setMailProvider at once change it one after the other', async () => {
  await agreeOnMailProvider(store.db, 'sandbox');
  const later: Promise<unknown>[] = [];
  const pool = hookedPool(store.db.pool, [
    /^update/,
    async () => {
      later.push(setMailProvider(store.db, 'ses', ACTOR));
      await Promise.race([...later, untilWaitingForLock(store.outside)]);
    },
  ]);
  expect(await setMailProvider({ ...store.db, pool }, 'smtp', ACTOR)).toBe('sandbox');
  expect(await Promise.all(later)).toEqual(['smtp']);
  expect(await kept()).toEqual([{ mail_provider: 'ses' }]);
  expect(await changes()).toEqual([
    { before: { value: 'sandbox' }, after: { value: 'smtp' } },
    { before: { value: 'smtp' }, after: { value: 'ses' } },
  ]);
});
