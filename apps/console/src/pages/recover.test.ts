import { describe, expect, test } from '@jest/globals';
import type { AccountId, RecoveryId, WebhookId } from '@postrider/domain';
import type { OwnedWebhook, RecoveryCount } from '@postrider/store';
import { waitFor } from '@postrider/testing';
import { textOf, valuesOf } from '../../test/http-visitor.ts';
import type { Visit } from '../http/serve-page.ts';
import { createOneCount } from '../routes/one-count.ts';
import { recoverPage, recoverPath, typedNumber } from './recover.ts';
import type { RecoverFields, RecoverTarget } from './recover.ts';

const AT = new Date('2026-11-26T07:10:52.093Z');
const visit: Visit = {
  visitor: { name: 'ada', role: 'operator', csrf: 'token' },
  mayAct: true,
  params: {},
  query: {},
  url: '/recover',
  now: AT,
  isConnected: () => true,
  done: null,
};
const fields: RecoverFields = {
  webhook: 'Quill Notes',
  since: new Date('2026-11-25T22:00:00Z'),
  rate: 200,
  only: 'undelivered',
};

function target(n: number, count: Partial<RecoveryCount>, running?: RecoveryId): RecoverTarget {
  const webhook: OwnedWebhook = {
    id: `wh_0000000000000000000000000${n}` as WebhookId,
    accountId: 'acct_1' as AccountId,
    endpoint: `https://h${n}.example.com/in`,
    events: [],
    description: null,
    domains: [],
    createdAt: AT,
    ruleId: null,
    failingSince: null,
    failingNoticeAt: null,
    deadLettersDropped: 0,
  };
  const none = { matched: 0, deadLetters: 0, unknown: 0, oldest: null, newest: null, hasMore: false };
  const span = { since: AT, until: AT, asOf: AT };
  return { webhook, count: { ...span, ...none, ...count }, day: undefined, health: undefined, running };
}

const pageOf = (targets: readonly RecoverTarget[]) =>
  String(recoverPage({ fields, dryRun: { targets, account: null, owner: 'Quill Notes' } }, visit).main);

describe('a dry run', () => {
  test('whose count was cut says so in every number, and leads to a count of the webhook alone', () => {
    const page = pageOf([target(1, { matched: 25_000, deadLetters: 7, hasMore: true })]);
    const words = textOf(page);
    for (const part of [
      '25,000+ events for 1 webhook',
      '24,993+',
      '2 min 5 s+',
      'Recover 25,000+ events',
      'sends them all',
    ])
      expect(words).toContain(part);
    expect(page).toContain('/recover?webhook=wh_00000000000000000000000001&amp;since=2026-11-25+22%3A00');
  });

  test.each([0, 3])(
    'whose count was cut after %i events offers them, and has the number typed',
    (matched) => {
      const page = pageOf([target(1, { matched, hasMore: true }), target(2, {})]);
      const words = textOf(page);
      for (const part of [
        `${matched}+ events for 1 webhook`,
        'More may match',
        `Type the number of events ${matched}+, with`,
        `Recover ${matched}+ events`,
      ])
        expect(words).toContain(part);
      expect(valuesOf(page, '/recoveries')).toMatchObject({
        counted: `wh_00000000000000000000000001:${matched}+`,
      });
    },
  );

  test('says how many events are left out because nobody knows whether they arrived', () => {
    const words = textOf(pageOf([target(1, { unknown: 3 })]));
    expect(words).toContain('3 events of h1.example.com/in are left out.');
    expect(words).not.toContain('Confirm');
  });

  test('puts into its form each number with its webhook, without those that are left out', () => {
    const page = pageOf([
      target(1, { matched: 2 }),
      target(2, { matched: 5 }, 'rec_1' as RecoveryId),
      target(3, { matched: 4 }),
      target(4, {}),
    ]);
    expect(valuesOf(page, '/recoveries')).toMatchObject({
      counted: 'wh_00000000000000000000000001:2 wh_00000000000000000000000003:4',
      at: '2026-11-26T07:10:52.093Z',
      since: '2026-11-25T22:00:00.000Z',
      until: '',
    });
    expect(textOf(page)).toContain('5 events for 1 other webhook left out');
  });

  test('of several webhooks says that each gets the rate', () => {
    expect(textOf(pageOf([target(1, { matched: 2 })]))).toContain('1 webhook , at 200 per second. New');
    const words = textOf(pageOf([target(1, { matched: 2 }), target(2, { matched: 2 })]));
    expect(words).toContain('2 webhooks , at 200 per second each. New');
    expect(words).toContain('Events per second, each webhook');
  });

  test('has its number typed above 1,000', () => {
    expect(typedNumber([{ matched: 1_000, hasMore: false }])).toBeNull();
    expect(typedNumber([{ matched: 1_001, hasMore: false }])).toBe('1001');
  });

  test('has an address with everything that was asked for', () => {
    const path = recoverPath({
      ...fields,
      until: AT,
      types: 'email.sent',
      rate: 7,
      only: 'all',
      failing: 'include',
    });
    expect(Object.fromEntries(new URLSearchParams(path.split('?')[1]))).toEqual({
      webhook: 'Quill Notes',
      since: '2026-11-25 22:00',
      until: '2026-11-26 07:10:52.093',
      types: 'email.sent',
      rate: '7',
      only: 'all',
      failing: 'include',
    });
  });
});

test('of two counts at a time one is refused, and a count that failed leaves its place free', async () => {
  const sole = createOneCount(60_000);
  const { promise, resolve } = Promise.withResolvers<string>();
  const first = sole(async () => promise);
  const second = sole(async () => 'waited');
  resolve('first'); // a count that waited would now run
  await expect(second).rejects.toMatchObject({ page: { status: 503 } });
  expect(await first).toBe('first');
  await expect(sole(async () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await sole(async () => 'third')).toBe('third');
});

test('a count waits for one that nobody wants, and two that wait run one after the other', async () => {
  const sole = createOneCount(60_000);
  const isWanted = () => false;
  const results = [1, 2, 3].map(() => Promise.withResolvers<number>());
  const begun: number[] = [];
  const counts = results.map(async ({ promise }, at) =>
    sole(
      async () => {
        begun.push(at);
        return promise;
      },
      { isWanted },
    ),
  );
  for (const [at, { resolve }] of results.entries()) {
    await waitFor(() => begun.length === at + 1, { what: `count ${at}` });
    resolve(at);
  }
  expect(await Promise.all(counts)).toEqual([0, 1, 2]);
});
