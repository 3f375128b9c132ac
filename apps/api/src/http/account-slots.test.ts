import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { createUnmeteredSlots } from './account-slots.ts';

const CONNECTIONS = 20;

/** Each piece of work writes a delivery, and each makes a count of the outstanding ones due. */
const LIMITS = { perSecond: 1_000_000, outstandingMax: 1 };
const written = () => 1;
const work = async () => Promise.resolve('done');

test('the outstanding deliveries are counted for one account at a time, and once for all its slots', async () => {
  const counted: string[] = [];
  const { promise: opened, resolve: open } = Promise.withResolvers<number>();
  const { accountSlots: slots } = createUnmeteredSlots(CONNECTIONS, {
    ...LIMITS,
    async outstandingOf(accountId) {
      counted.push(accountId);
      return opened;
    },
  });
  const owners = ['acct_1', 'acct_1', 'acct_1', 'acct_2'];
  await Promise.all(owners.map((owner) => slots.run(owner, work, undefined, written)));
  await waitFor(() => counted.length > 0, { what: 'a count' });
  expect(counted).toEqual(['acct_1']);
  open(0);
  await waitFor(() => counted.length === 2, { what: 'the other account to be counted' });
  expect(counted).toEqual(['acct_1', 'acct_2']);
});

test('small requests one after the other are counted once they have written a hundredth of the limit', async () => {
  const counted: string[] = [];
  const { accountSlots: slots } = createUnmeteredSlots(CONNECTIONS, {
    ...LIMITS,
    outstandingMax: 300,
    async outstandingOf(accountId) {
      counted.push(accountId);
      return 0;
    },
  });
  for (const counts of [0, 0, 1, 1, 1, 2]) {
    await slots.run('acct_1', work, undefined, written);
    await nextIteration(); // the slot is free again, so the account has no work
    expect(counted).toHaveLength(counts);
  }
});

test('a count that fails is made again, and the slots stay held meanwhile', async () => {
  let fails = true;
  let counts = 0;
  const { accountSlots: slots } = createUnmeteredSlots(CONNECTIONS, {
    ...LIMITS,
    async outstandingOf() {
      counts += 1;
      return fails ? Promise.reject(new Error('no connection is free')) : Promise.resolve(0);
    },
  });
  const inFlight = Array.from({ length: 4 }, () => slots.run('acct_1', work, undefined, written));
  await Promise.all(inFlight);
  const before = counts;
  let isServed = false;
  const fifth = slots.run('acct_1', work).then(() => (isServed = true));
  await waitFor(() => counts > before + 1, { what: 'two more counts' });
  expect(isServed).toBe(false);
  fails = false;
  await fifth;
});

test('counts that always fail do not hold the slots for ever', async () => {
  let counts = 0;
  const { accountSlots: slots } = createUnmeteredSlots(CONNECTIONS, {
    ...LIMITS,
    async outstandingOf() {
      counts += 1;
      return Promise.reject(new Error('canceling statement due to statement timeout'));
    },
  });
  await Promise.all(Array.from({ length: 4 }, () => slots.run('acct_1', work, undefined, written)));
  expect(await slots.run('acct_1', work)).toBe('done');
  expect(counts).toBe(5);
});
