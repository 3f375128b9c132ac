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
