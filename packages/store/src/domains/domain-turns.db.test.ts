import { expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import { statementsOf } from '../../test/counted-statements.ts';
import { setupStore } from '../../test/open-store.ts';
import { createDomainTurns } from './domain-turns.ts';

const LONG_MS = 60_000;
const SHORT_MS = 200;
const LONG = { operationMs: LONG_MS / 2, marginMs: LONG_MS / 2 };
const SHORT = { operationMs: SHORT_MS / 2, marginMs: SHORT_MS / 2 };

const store = setupStore();

/** The row that a process leaves when it dies during its turn. */
async function abandoned(name: string, endsInMs: number, accountId: AccountId | null = null): Promise<void> {
  await store.outside.query(
    `insert into domain_turns (name, holder, ends_at, account_id)
     values ($1, 'gone', now() + make_interval(secs => $2::float8 / 1000), $3)`,
    [name, endsInMs, accountId],
  );
}

test('one holder at a time works on a name, across processes', async () => {
  const processes = [createDomainTurns(store.db, LONG), createDomainTurns(store.db, LONG)];
  let running = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, (running += 1));
    await store.outside.query('select 1');
    running -= 1;
  };
  const turns = processes.flatMap((turns) => [1, 2, 3].map(async () => turns.during('b.example', work)));
  const results = await Promise.all(turns);
  expect(results.map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => 'done'));
  expect(most).toBe(1);
  expect(await store.outside.query('select * from domain_turns')).toEqual([]);
});

test('each name has its own turn', async () => {
  const turns = createDomainTurns(store.db, LONG);
  const inner = await turns.during('b.example', async () => turns.during('c.example', async () => 'c'));
  expect(inner).toEqual({ kind: 'done', value: { kind: 'done', value: 'c' } });
});

test('the turn ends when the work fails', async () => {
  const turns = createDomainTurns(store.db, LONG);
  await expect(
    turns.during('b.example', async () => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  expect(await turns.during('b.example', async () => 1)).toEqual({ kind: 'done', value: 1 });
});

test('a turn that is never ended expires', async () => {
  await abandoned('crashed.example', 2 * SHORT_MS);
  const turns = createDomainTurns(store.db, LONG);
  expect(await turns.during('crashed.example', async () => 1)).toEqual({ kind: 'done', value: 1 });
});

test('a name counts for the account that died while it added it, until that turn ends', async () => {
  const accountId = await store.newAccount();
  const turns = createDomainTurns(store.db, LONG);
  const reserve = async () =>
    turns.during('new.example', async (turn) => turn.reserve(accountId, { all: 1, unverified: 1 }));
  await abandoned('left.example', LONG_MS, accountId);
  expect(await reserve()).toMatchObject({ value: { kind: 'limit-reached' } });
  await store.outside.query(`update domain_turns set ends_at = now() where name = 'left.example'`);
  expect(await reserve()).toEqual({ kind: 'done', value: null });
  // Another account takes the turn for the name.
  expect(await turns.during('left.example', reserve)).toMatchObject({ value: { value: null } });
});

test('waiting ends as busy after the length of two turns', async () => {
  await abandoned('b.example', LONG_MS);
  const turns = createDomainTurns(store.db, SHORT);
  expect(await turns.during('b.example', async () => 1)).toEqual({ kind: 'busy' });
});

test('hasTimeLeft is false when an operation could outlast the turn, which still lasts', async () => {
  const long = createDomainTurns(store.db, LONG);
  expect(await long.during('long.example', async (turn) => turn.hasTimeLeft())).toMatchObject({
    value: true,
  });
  const narrow = createDomainTurns(store.db, { operationMs: LONG_MS, marginMs: SHORT_MS });
  await narrow.during('narrow.example', async (turn) => {
    await waitFor(() => !turn.hasTimeLeft(), { what: 'the margin of the turn to pass' });
    expect(
      await store.outside.query(
        `select ends_at > now() as lasts from domain_turns where name = 'narrow.example'`,
      ),
    ).toEqual([{ lasts: true }]);
  });
});

test('the pauses between polls grow', async () => {
  await abandoned('asked.example', LONG_MS);
  const turns = createDomainTurns(store.db, { operationMs: 1_000, marginMs: 0 });
  const asked = await statementsOf(store.db, async () => turns.during('asked.example', async () => 1));
  // Two turns last 2 s. The earliest polls are at 0, 0.1, 0.3, 0.7, 1.5 and 2.5 s.
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.length).toBeLessThanOrEqual(6);
});

test('a holder whose turn expired does not end the next holder’s turn', async () => {
  const turns = createDomainTurns(store.db, LONG);
  await turns.during('slow.example', async () => {
    await store.outside.query(`update domain_turns set holder = 'other' where name = 'slow.example'`);
  });
  const holders = () =>
    store.outside.query('select holder from domain_turns where name = $1', ['slow.example']);
  expect(await holders()).toEqual([{ holder: 'other' }]);
});
