import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { readUnsentMail } from './unsent-mail.ts';

const store = setupStore();
let rows: Rows;

beforeAll(() => {
  rows = createRows(store.outside);
});
beforeEach(() => rows.clear());

test('no mail waits: no age', async () => {
  expect(await readUnsentMail(store.db)).toEqual({
    emails: 0,
    isCut: false,
    oldestDueAt: null,
    oldestDueSeconds: 0,
  });
});

test('mail that is tried again later is counted and has no age yet', async () => {
  await rows.email(100_000);
  expect(await readUnsentMail(store.db)).toMatchObject({ emails: 1, oldestDueSeconds: 0 });
});

test('the age is that of the oldest message that is due, also while a worker sends it', async () => {
  await rows.email(-5_000);
  await rows.email(-500_000);
  await rows.email(100_000);
  await store.outside.query("update email_sends set leased_until = now() + interval '1 hour'");
  const { emails, oldestDueSeconds } = await readUnsentMail(store.db);
  expect(emails).toBe(3);
  expect(Math.floor(oldestDueSeconds / 500)).toBe(1);
});

test('mail is counted up to 10,000, and the count says when more waits', async () => {
  const first = await rows.email();
  await store.outside.query(
    `insert into emails select (jsonb_populate_record(e, jsonb_build_object('id', 'em_' || n))).*
     from emails e, generate_series(2, 10001) n where e.id = $1`,
    [first],
  );
  const queue = (from: number, to: number) =>
    store.outside.query(
      `insert into email_sends select (jsonb_populate_record(s, jsonb_build_object('email_id', 'em_' || n))).*
       from email_sends s, generate_series($2::int, $3::int) n where s.email_id = $1`,
      [first, from, to],
    );
  await queue(2, 10_000);
  expect(await readUnsentMail(store.db)).toMatchObject({ emails: 10_000, isCut: false });
  await queue(10_001, 10_001);
  expect(await readUnsentMail(store.db)).toMatchObject({ emails: 10_000, isCut: true });
});
