import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, DeadLetterId, DeadLetterReason, EventType, WebhookId } from '@postrider/domain';
import { ACTOR, newWebhook, untilWaitingForLock } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import { createDeadLetterStore } from './dead-letters.ts';
import { countDeadLettersBefore } from './find-dead-letters.ts';
import type { DeadLetterFilter, DeadLetterStore, ReplayRequest } from './dead-letters.ts';

const BEGAN = Date.parse('2026-02-01T00:00:00.000Z');

const store = setupStore();
let deadLetters: DeadLetterStore;
let accountId: AccountId;
let noisy: WebhookId;
let quiet: WebhookId;
let made: number;

beforeAll(async () => {
  deadLetters = createDeadLetterStore(store.db);
});
beforeEach(async () => {
  accountId = await store.newAccount();
  [noisy, quiet] = [await webhook(), await webhook()];
  made = 0;
});

async function webhook(owner = accountId): Promise<WebhookId> {
  const webhooks = createWebhookStore(store.db, store.secrets, store.clock);
  const request = { accountId: owner, endpoint: 'https://a.example/', events: [] };
  return (await newWebhook(webhooks, request)).webhook.id;
}

/** Each a second younger than the one before. @returns the ids, the oldest first. */
async function bury(
  webhookId: WebhookId,
  count: number,
  type: EventType = 'email.sent',
  reason: DeadLetterReason = 'rejected',
): Promise<DeadLetterId[]> {
  const ids = Array.from({ length: count }, () => {
    store.clock.advance(1);
    return newId('deadLetter', store.clock);
  });
  await store.outside.query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
       last_error, created_at)
     select id, $2, $3, replace(id, 'dl_', 'evt_'), $4, now(), '{}', 8, $5::dead_letter_reason, 'x',
            $6::timestamptz + ($7 + n) * interval '1 s'
     from unnest($1::text[]) with ordinality u (id, n)`,
    [ids, accountId, webhookId, type, reason, new Date(BEGAN), made],
  );
  made += count;
  return ids;
}

async function listed(
  filter: DeadLetterFilter & { webhookId?: WebhookId } = {},
  after?: DeadLetterId,
): Promise<DeadLetterId[]> {
  const page = await deadLetters.list(accountId, filter, after);
  if (page === null) throw new Error('no such cursor');
  return page.entries.map(({ id }) => id);
}

/** The events that are queued for a webhook, in the order in which they go out, as ids of their letters. */
async function queued(webhookId = noisy): Promise<string[]> {
  const rows = await store.outside.query<{ id: string }>(
    `select replace(event_id, 'evt_', 'dl_') as id from deliveries where webhook_id = $1 order by due_at, id`,
    [webhookId],
  );
  return rows.map(({ id }) => id);
}

const replay = (request: Partial<ReplayRequest> = {}, by = accountId) =>
  deadLetters.replayMatching(by, { webhookId: noisy, ...request }, ACTOR);

const done = (replayed: number, remaining: number) => ({ kind: 'replayed', replayed, remaining });

describe('list', () => {
  test('finds the letters of a quiet webhook behind any number of a noisy one', async () => {
    const mine = await bury(quiet, 2);
    await bury(noisy, 150);
    expect(await listed()).not.toContain(mine[0]);
    expect(await listed({ webhookId: quiet })).toEqual([...mine].reverse());
  });

  test('takes type and reason, alone and together, of all webhooks and of one', async () => {
    const [sent] = await bury(noisy, 1, 'email.sent', 'rejected');
    const [opened] = await bury(noisy, 1, 'email.opened', 'rejected');
    const [tried] = await bury(quiet, 1, 'email.opened', 'attempts_exhausted');
    expect(await listed({ type: 'email.opened' })).toEqual([tried, opened]);
    expect(await listed({ reason: 'rejected' })).toEqual([opened, sent]);
    expect(await listed({ type: 'email.opened', reason: 'attempts_exhausted' })).toEqual([tried]);
    expect(await listed({ webhookId: noisy, type: 'email.opened' })).toEqual([opened]);
    expect(await listed({ webhookId: noisy, reason: 'attempts_exhausted' })).toEqual([]);
  });

  test.each(['all', 'of one webhook', 'of one type'])(
    'with `after` it goes on until the oldest, each letter once (%s)',
    async (which) => {
      const filter = { all: {}, 'of one webhook': { webhookId: noisy } }[which] ?? {
        type: 'email.sent' as const,
      };
      const all = (await bury(noisy, 250)).reverse();
      await store.outside.query('update dead_letters set created_at = $1 where id = any ($2)', [
        new Date(BEGAN),
        all.slice(90, 120),
      ]);
      const seen: DeadLetterId[] = [];
      for (let page = await listed(filter); page.length > 0; page = await listed(filter, seen.at(-1))) {
        expect(page.length).toBeLessThanOrEqual(100);
        seen.push(...page);
      }
      expect(seen).toHaveLength(250);
      expect(new Set(seen)).toEqual(new Set(all));
    },
  );

  test('another account’s webhook has none, and its letter is no cursor, as one that is not there', async () => {
    const [letter] = await bury(noisy, 1);
    const stranger = await store.newAccount();
    for (const webhookId of [noisy, newId('webhook', store.clock)]) {
      expect(await deadLetters.list(stranger, { webhookId })).toEqual({ entries: [], hasMore: false });
    }
    for (const after of [letter, newId('deadLetter', store.clock)]) {
      expect(await deadLetters.list(stranger, {}, after)).toBeNull();
    }
  });

  test('a webhook that is being removed has none, and neither is one a cursor', async () => {
    const [letter] = await bury(noisy, 1);
    await store.outside.query('update webhooks set removed_at = now() where id = $1', [noisy]);
    expect(await listed({ webhookId: noisy })).toEqual([]);
    expect(await deadLetters.list(accountId, {}, letter)).toBeNull();
    expect(await replay()).toEqual({ kind: 'no webhook' });
  });
});

describe('replay of what matches', () => {
  test('takes 1,000 a call, the oldest first, and says how many are left', async () => {
    const ids = await bury(noisy, 2_005);
    await bury(quiet, 1);
    expect(await replay()).toEqual(done(1_000, 1_005));
    expect(await queued()).toEqual(ids.slice(0, 1_000));
    expect(store.wakeUps.at(-1)).toEqual({ webhooks: [noisy], mail: false });
    expect(await replay()).toEqual(done(1_000, 5));
    expect(await replay()).toEqual(done(5, 0));
    const asked = store.wakeUps.length;
    expect(await replay()).toEqual(done(0, 0));
    expect(store.wakeUps).toHaveLength(asked);
    expect(await queued()).toEqual(ids);
    expect(await listed()).toHaveLength(1);
  });

  test('leaves what does not match', async () => {
    const [first] = await bury(noisy, 1, 'email.sent', 'rejected');
    const [second] = await bury(noisy, 1, 'email.opened', 'rejected');
    const [third] = await bury(noisy, 1, 'email.opened', 'attempts_exhausted');
    expect(await replay({ type: 'email.opened', reason: 'rejected' })).toEqual(done(1, 0));
    expect(await queued()).toEqual([second]);
    expect(await replay({ reason: 'attempts_exhausted' })).toEqual(done(1, 0));
    expect(await queued()).toEqual([second, third]);
    expect(await replay({ type: 'email.clicked' })).toEqual(done(0, 0));
    expect(await listed()).toEqual([first]);
  });

  test('goes up to a moment, or to a letter, and takes neither what is of that moment nor that letter', async () => {
    const [first, second, third] = await bury(noisy, 3);
    expect(await replay({ before: new Date(BEGAN + 2_000) })).toEqual(done(1, 0));
    expect(await queued()).toEqual([first]);
    expect(await replay({ before: third })).toEqual(done(1, 0));
    expect(await queued()).toEqual([first, second]);
    expect(await listed()).toEqual([third]);
    const elsewhere = newId('deadLetter', store.clock);
    expect(await replay({ before: elsewhere })).toEqual({ kind: 'no such cut' });
  });

  test('writes events back that retention has dropped, and leaves those that are there', async () => {
    const [letter] = await bury(noisy, 2);
    await store.outside.query(
      `insert into events (id, account_id, type, created_at, data) values ($1, $2, 'email.sent', now(), '{"kept":1}')`,
      [letter?.replace('dl_', 'evt_'), accountId],
    );
    expect(await replay()).toEqual(done(2, 0));
    const events = await store.outside.query<{ data: string }>(
      'select data from events where account_id = $1 order by id',
      [accountId],
    );
    expect(events.map(({ data }) => data)).toEqual(['{"kept":1}', '{}']);
  });

  test('twenty at once replay each letter once, and together as many as they can', async () => {
    const ids = await bury(noisy, 2_500);
    const outcomes = await Promise.all(Array.from({ length: 20 }, async () => replay()));
    const replayed = outcomes.map((outcome) => (outcome.kind === 'replayed' ? outcome.replayed : NaN));
    expect(replayed.reduce((sum, each) => sum + each)).toBe(2_500);
    expect((await queued()).sort()).toEqual([...ids].sort());
    expect(await listed()).toEqual([]);
  });

  test('beside replays one by one of the same letters each is queued once', async () => {
    const ids = await bury(noisy, 60);
    const [many, ...single] = await Promise.all([
      replay(),
      ...ids.map(async (id) => deadLetters.replay(accountId, id, ACTOR)),
    ]);
    const one = single.filter(Boolean).length;
    expect(many.kind === 'replayed' ? many.replayed + one : NaN).toBe(60);
    expect((await queued()).sort()).toEqual([...ids].sort());
  });

  test('passes over letters that another holds: nobody waits for it', async () => {
    const [held, free] = await bury(noisy, 2);
    await inUndoneTransaction(store.db.pool, async (session) => {
      await session.query('select from dead_letters where id = $1 for update', [held]);
      expect(await replay()).toEqual(done(1, 1));
    });
    expect(await queued()).toEqual([free]);
  });

  test('two webhooks that replay the same events at once do not lock each other out', async () => {
    const letters = await bury(noisy, 1_000);
    await store.outside.query(
      `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
         last_error, created_at)
       select 'dl_1' || lpad((row_number() over (order by id desc))::text, 25, '0'), account_id, $2, event_id, type, event_created_at, data, attempts, reason,
              last_error, created_at - 2 * (created_at - $3::timestamptz)
       from dead_letters where webhook_id = $1`,
      [noisy, quiet, new Date(BEGAN)],
    );
    // Both come as far as the event in the middle, and go on from there together.
    const both = await inUndoneTransaction(store.db.pool, async (session) => {
      await session.query(
        `insert into events (id, account_id, type, created_at, data) values ($1, $2, 'email.sent', now(), '{}')`,
        [letters[500]?.replace('dl_', 'evt_'), accountId],
      );
      const replays = [replay(), replay({ webhookId: quiet })];
      await untilWaitingForLock(store.outside, 2);
      return replays;
    });
    expect(await Promise.all(both)).toEqual([done(1_000, 0), done(1_000, 0)]);
    expect((await queued(quiet)).sort()).toEqual([...letters].sort());
  });

  test('waits for an open DELETE of the webhook, and then finds no webhook', async () => {
    await bury(noisy, 1);
    const session = await store.db.pool.connect();
    await session.query('begin');
    await session.query('delete from webhooks where id = $1', [noisy]);
    const waiting = replay();
    await untilWaitingForLock(store.outside);
    await session.query('commit');
    session.release();
    expect(await waiting).toEqual({ kind: 'no webhook' });
    expect(await queued()).toEqual([]);
  });

  test('another account’s webhook reads as missing, and nothing of it is replayed', async () => {
    await bury(noisy, 1);
    const stranger = await store.newAccount();
    expect(await replay({}, stranger)).toEqual({ kind: 'no webhook' });
    expect(await replay({ webhookId: newId('webhook', store.clock) }, stranger)).toEqual({
      kind: 'no webhook',
    });
    expect(await queued()).toEqual([]);
    expect(await listed()).toHaveLength(1);
  });
});

test('a count by type that is cut before it finds one is not whole', async () => {
  await bury(noisy, 101, 'email.opened');
  await bury(noisy, 1);
  // With so many webhooks, it looks at the 100 letters of each that were given up first.
  const webhooks = [noisy, quiet, ...Array.from({ length: 248 }, () => newId('webhook', store.clock))];
  const found = await countDeadLettersBefore(store.db, webhooks, {
    before: new Date(Date.now() + 60_000),
    type: 'email.sent',
  });
  expect([...found]).toEqual([[noisy, { found: 0, isWhole: false }]]);
});
