import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { notificationDetailOf, plainAddress, recordEvent } from '@postrider/domain';
import type { AccountId, EmailDraft, EmailId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import type { Pool } from 'pg';
import { draftOf } from '../../test/draft.ts';
import { endDeliveries, sendToProvider, sendMail } from '../../test/ended-mail.ts';
import { hookedPool } from '../../test/hooked-pool.ts';
import { letTimePass } from '../../test/let-time-pass.ts';
import { refused } from '../../test/mail-outcomes.ts';
import { setupStore } from '../../test/open-store.ts';
import { resumeErasures, resumeErasuresLater, unfinishedErasure } from '../../test/resume-erasures.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { takeOne } from '../../test/taken-email.ts';
import { createDeadLetterStore } from '../deliveries/dead-letters.ts';
import type { DeadLetter } from '../deliveries/dead-letters.ts';
import { createMailWork } from '../mail/mail-work.ts';
import { NOTICES_ACCOUNT, storeNotices } from '../mail/send-emails.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { createErasureStore } from './erasures.ts';
import type { ErasureStore } from './erasures.ts';

const BOB = 'bob@xn--bcher-kva.example';

const store = setupStore();
let rows: Rows;
let erasures: ErasureStore;
let accountId: AccountId;
let webhookId: WebhookId;

beforeAll(async () => {
  rows = createRows(store.outside);
  erasures = createErasureStore(store.db.pool);
});
beforeEach(async () => {
  await rows.clear();
  accountId = await rows.account();
  webhookId = await rows.webhook({ accountId });
});

const send = (change: Partial<EmailDraft>, of = accountId) => sendMail(store, of, change);

async function sent(change: Partial<EmailDraft>, of = accountId): Promise<EmailId> {
  const id = await send(change, of);
  await sendToProvider(store, id);
  return id;
}

const end = (result: 'done' | 'dead') => endDeliveries(store, webhookId, result);

async function firstLetter(): Promise<DeadLetter> {
  const [letter] = (await createDeadLetterStore(store.db).list(accountId, {}))?.entries ?? [];
  if (letter === undefined) throw new Error('no dead letter');
  return letter;
}

/** What there is, by table. */
async function counts(): Promise<Record<string, number>> {
  const [row] = await store.outside.query<Record<string, number>>(
    `select (select count(*)::int from emails) as emails, (select count(*)::int from email_attachments) as files,
            (select count(*)::int from events) as events, (select count(*)::int from deliveries) as deliveries,
            (select count(*)::int from attempts) as attempts, (select count(*)::int from dead_letters) as letters,
            (select count(*)::int from erasures) as erasures,
            (select count(*)::int from event_recipients) as recipients, (select count(*)::int from erased_emails) as ids`,
  );
  return row ?? {};
}
const NONE = {
  emails: 0,
  files: 0,
  events: 0,
  deliveries: 0,
  attempts: 0,
  letters: 0,
  erasures: 0,
  ids: 0,
  recipients: 0,
};

const result = (erased: object, pending?: object) => unfinishedErasure(accountId, erased, pending);
const lookLater = () => resumeErasuresLater(erasures, store.outside);
const lastResult = (erased: object = {}) => ({ ...result(erased), pendingIds: [], finished: true });

describe('a person is forgotten', () => {
  test.each<[string, Partial<EmailDraft>]>([
    ['from', { from: 'Bob <Bob@bücher.example>' }],
    ['to', { to: ['ada@a.example', 'Bob <bob@bücher.example>'] }],
    ['cc', { cc: ['BOB@xn--bcher-kva.example'] }],
    ['bcc', { bcc: ['bob@BÜCHER.example'] }],
    ['reply_to', { replyTo: ['"Bob, B." <bob@bücher.example>'] }],
  ])('who is among %s: the message, its events and the log of their attempts', async (_, change) => {
    const file = { filename: 'a', content: 'aGVsbG8=', contentType: null, contentId: null };
    await sent({ ...change, attachments: [file] });
    await end('done');
    expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(
      result({ emails: 1, events: 1, attempts: 1 }),
    );
    expect(await lookLater()).toEqual([lastResult()]);
    expect(await counts()).toEqual(NONE);
  });

  test('with the dead letters, also those whose event retention has dropped', async () => {
    await sent({ to: [BOB] });
    await sent({ to: [BOB] });
    await end('dead');
    await store.outside.query('delete from events where id = (select min(id) from events)');
    expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(
      result({ emails: 2, events: 1, attempts: 2, deadLetters: 2 }),
    );
    expect(await lookLater()).toEqual([lastResult()]);
    expect(await counts()).toEqual(NONE);
  });

  test('with events that name the address and no message, and reports about others of the same message', async () => {
    await createSuppressionStore(store.db, store.clock).add(accountId, [BOB]);
    const emailId = await sent({ to: [BOB, 'ada@a.example'] });
    const data = {
      email_id: emailId,
      recipients: ['ada@a.example'],
      occurred_at: '2026-03-01T12:00:00.000Z',
      detail: notificationDetailOf({}),
    };
    await store.db.transactions.run(async (tx) => {
      await recordEvent(tx, { type: 'email.delivered', accountId, data }, store.clock);
    });
    await end('done');
    expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(
      result({ emails: 1, events: 3, attempts: 3 }),
    );
    expect(await lookLater()).toEqual([lastResult()]);
    expect(await counts()).toEqual(NONE);
  });

  test('with the notice address, and with the mail that Postrider sent there', async () => {
    const addressOf = async (id: AccountId) => {
      const [row] = await store.outside.query<{ address: string | null }>(
        'select notice_email as address from accounts where id = $1',
        [id],
      );
      return row?.address;
    };
    const other = await rows.account();
    await store.outside.query('update accounts set notice_email = $1', [BOB]);
    const notices = [BOB, 'eve@e.example'].map((to) => draftOf({ to: [to], cc: [], bcc: [] }));
    await storeNotices(store.db.pool, store.clock, notices);
    await store.outside.query('delete from email_sends'); // sent
    await erasures.erase(accountId, 'nobody@n.example', ACTOR);
    expect(await addressOf(accountId)).toBe(BOB);
    await erasures.erase(accountId, BOB, ACTOR);
    expect([await addressOf(accountId), await addressOf(other)]).toEqual([null, BOB]);
    await resumeErasures(erasures);
    const left = await store.outside.query('select account_id, to_addresses from emails');
    expect(left).toEqual([{ account_id: NOTICES_ACCOUNT, to_addresses: ['eve@e.example'] }]);
  });

  test('and the suppression stays, so that nothing is sent to them again', async () => {
    const suppressions = createSuppressionStore(store.db, store.clock);
    await suppressions.add(accountId, [BOB]);
    await end('done');
    await erasures.erase(accountId, BOB, ACTOR);
    expect(await suppressions.find(accountId, { address: BOB })).not.toBeNull();
  });

  test('although another event, and its dead letter, hold half of a character', async () => {
    await rows.deadLetter(webhookId, await rows.event({ accountId }));
    const broken = `{"email_id":"em_other","from":"a@a.example","subject":"x","error":"no \\ud83d"}`;
    for (const table of ['events', 'dead_letters'])
      await store.outside.query(`update ${table} set data = $1`, [broken]);
    await sent({ to: [BOB] });
    await end('done');
    expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(
      result({ emails: 1, events: 1, attempts: 1 }),
    );
    expect(await lookLater()).toEqual([lastResult()]);
  });

  test('and nobody else: not those with a like address, nor what other accounts have', async () => {
    const other = await rows.account();
    const otherWebhook = await rows.webhook({ accountId: other });
    const like = ['jim.bob@xn--bcher-kva.example', 'bob@b.example', 'Bob <ada@a.example>'];
    for (const to of like) await sent({ to: [to] });
    await sent({ to: [BOB] }, other);
    await rows.deadLetter(otherWebhook, await rows.event({ accountId: other }));
    await end('dead');
    const before = await counts();
    expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(result({}));
    expect(await lookLater()).toEqual([lastResult()]);
    expect(await counts()).toEqual(before);
  });
});

describe('what is outstanding ends first, and is erased then', () => {
  test('events whose deliveries are outstanding, with every attempt that is still made', async () => {
    await sent({ to: [BOB] });
    expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(result({ emails: 1 }, { events: 1 }));
    expect(await counts()).toMatchObject({ emails: 0, events: 1, deliveries: 1, erasures: 1, ids: 1 });
    expect(await lookLater()).toEqual([result({}, { events: 1 })]);
    await end('done');
    expect(await lookLater()).toEqual([lastResult({ events: 1, attempts: 1 })]);
    expect(await counts()).toEqual(NONE);
    expect(await lookLater()).toEqual([]);
  });

  test('events that end as dead letters, and such as are replayed', async () => {
    await sent({ to: [BOB] });
    await erasures.erase(accountId, BOB, ACTOR);
    await end('dead');
    const letter = await firstLetter();
    expect(await createDeadLetterStore(store.db).replay(accountId, letter.id, ACTOR)).toBe(true);
    expect(await lookLater()).toEqual([result({}, { events: 1 })]);
    await end('dead');
    expect(await lookLater()).toEqual([lastResult({ events: 1, attempts: 2, deadLetters: 1 })]);
    expect(await counts()).toEqual(NONE);
  });

  test('mail that waits to be handed over, whole, with the event of that', async () => {
    const id = await send({ to: [BOB] });
    expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(result({}, { emails: 1 }));
    const work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
    const taken = await takeOne(work, { emailId: id, claim: 0 });
    expect(taken?.draft.to).toEqual([BOB]);
    expect(await lookLater()).toEqual([result({}, { emails: 1 })]);
    if (taken !== null) await work.recordAlone(taken, refused('no such person'));
    expect(await lookLater()).toEqual([result({ emails: 1 }, { events: 1 })]);
    await end('done');
    expect(await lookLater()).toEqual([lastResult({ events: 1, attempts: 1 })]);
    expect(await counts()).toEqual(NONE);
  });

  test('a dead letter that is being replayed, though retention has dropped its event long ago', async () => {
    await sent({ to: [BOB] });
    await end('dead');
    await store.outside.query(`update dead_letters set event_created_at = now() - interval '60 days'`);
    await store.outside.query('delete from events');
    const letter = await firstLetter();
    await inUndoneTransaction(store.db.pool, async (replay) => {
      await replay.query('select from dead_letters for update');
      expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(result({ emails: 1 }, { deadLetters: 1 }));
    });
    await createDeadLetterStore(store.db).replay(accountId, letter.id, ACTOR);
    expect(await lookLater()).toEqual([result({}, { events: 1 })]);
    await end('done');
    expect(await lookLater()).toEqual([lastResult({ events: 1, attempts: 2 })]);
    expect(await counts()).toEqual(NONE);
  });

  test('and the longer it takes, the less often it is looked at', async () => {
    await sent({ to: [BOB] });
    const beganMs = performance.now();
    await erasures.erase(accountId, BOB, ACTOR);
    // The rest is 20 times the duration of the pass, and 15 s at least.
    const restSeconds = 15 + 20 * ((performance.now() - beganMs) / 1000);
    const due = async () =>
      store.outside.query(
        `select due_at <= now() + make_interval(secs => $1) as soon, due_at > now() + interval '1 hour' as late from erasures`,
        [restSeconds],
      );
    expect(await due()).toEqual([{ soon: true, late: false }]);
    await letTimePass(store.outside, '1 day');
    await resumeErasures(erasures);
    expect(await due()).toEqual([{ soon: false, late: true }]);
  });

  test('and a request that is repeated means what has come since', async () => {
    const waiting = await send({ to: [BOB] });
    const first = await erasures.erase(accountId, BOB, ACTOR);
    await letTimePass(store.outside, '3 days');
    await sent({ to: [BOB] });
    await end('done');
    await letTimePass(store.outside, '1 hour');
    await sendToProvider(store, waiting);
    // This pass moves `resume_from` past the mail that came since. The repetition must move it back.
    expect(await resumeErasures(erasures)).toEqual([result({ emails: 1 }, { events: 1 })]);
    const repeated = await erasures.erase(accountId, BOB, ACTOR);
    expect(repeated).toEqual(result({ emails: 1, events: 1, attempts: 1 }, { events: 1 }));
    expect(repeated.requestedAt > first.requestedAt).toBe(true);
    await end('done');
    expect(await lookLater()).toEqual([lastResult({ events: 1, attempts: 1 })]);
    expect(await counts()).toEqual(NONE);
  });

  test('and of two requests at once the later one stands, whichever is written last', async () => {
    await erasures.erase(accountId, BOB, ACTOR);
    await store.outside.query(`update erasures set requested_at = now() + interval '1 minute'`);
    const [later] = await store.outside.query<{ at: Date }>('select requested_at as at from erasures');
    expect((await erasures.erase(accountId, BOB, ACTOR)).requestedAt).toEqual(later?.at);
  });

  test('and what comes after the request is not meant', async () => {
    await sent({ to: [BOB] });
    await erasures.erase(accountId, BOB, ACTOR);
    await store.outside.query(`update erasures set requested_at = requested_at - interval '365 days'`);
    await end('done');
    expect(await lookLater()).toEqual([lastResult({ events: 1, attempts: 1 })]); // of the message that was meant
    await sent({ to: [BOB] });
    await end('done');
    expect(await lookLater()).toEqual([]);
    expect(await counts()).toMatchObject({ emails: 1, events: 1, attempts: 1 });
  });
});

describe('the promise is kept', () => {
  /** Fails from its `calls`-th connection on, as a process that is killed. */
  function dyingPool(calls: number): Pool {
    let left = calls;
    const connect = async () => {
      left -= 1;
      if (left < 0) throw new Error('killed');
      return store.db.pool.connect();
    };
    const query = store.db.pool.query.bind(store.db.pool);
    return { connect, query } as unknown as Pool;
  }

  const EVENTS_PAGE = /select id, created_at, data, .* from events/;
  const LETTERS_PAGE = /select id, created_at, event_created_at, data\s+from dead_letters/;

  test('for an event whose delivery ends as a dead letter between two looks at these', async () => {
    await sent({ to: [BOB] });
    const pool = hookedPool(store.db.pool, [EVENTS_PAGE, async () => end('dead')]);
    const first = await createErasureStore(pool).erase(accountId, BOB, ACTOR);
    expect(first).toEqual(result({ emails: 1, deadLetters: 1 }, { events: 1 }));
    expect(await lookLater()).toEqual([lastResult({ events: 1, attempts: 1 })]);
    expect(await counts()).toEqual(NONE);
  });

  test('for an event whose delivery ends as a dead letter that is replayed, both between these', async () => {
    await sent({ to: [BOB] });
    const replay = async () =>
      createDeadLetterStore(store.db).replay(accountId, (await firstLetter()).id, ACTOR);
    const pool = hookedPool(store.db.pool, [EVENTS_PAGE, async () => end('dead')], [LETTERS_PAGE, replay]);
    const first = await createErasureStore(pool).erase(accountId, BOB, ACTOR);
    expect(await counts()).toMatchObject({ events: 1, deliveries: 1, letters: 0 });
    expect(first).toEqual(result({ emails: 1 }, { events: 1 }));
    await end('done');
    expect(await lookLater()).toEqual([lastResult({ events: 1, attempts: 2 })]);
    expect(await counts()).toEqual(NONE);
  });

  test('for a dead letter that somebody replays while events are looked at', async () => {
    await sent({ to: [BOB] });
    await end('dead');
    await store.outside.query('delete from events');
    const letters = createDeadLetterStore(store.db);
    const letter = await firstLetter();
    // In front of the second look at dead letters: what a replay makes now is seen by no look at events.
    let looks = 0;
    const look = async () => {
      looks += 1;
      expect(await letters.replay(accountId, letter.id, ACTOR)).toBe(false);
    };
    const pool = hookedPool(store.db.pool, [EVENTS_PAGE, look]);
    await createErasureStore(pool).erase(accountId, BOB, ACTOR);
    expect(looks).toBe(1);
    expect(await lookLater()).toEqual([lastResult()]);
    expect(await counts()).toEqual(NONE);
  });

  test('by others, wherever the process dies that has made it', async () => {
    // The first connection looks for a notice address. The second one makes the promise.
    for (let calls = 2; ; calls += 1) {
      await rows.clear();
      accountId = await rows.account();
      webhookId = await rows.webhook({ accountId });
      await sent({ to: [BOB] });
      await sent({ to: [BOB] });
      await end('dead');
      const dying = createErasureStore(dyingPool(calls));
      const both = async () => {
        await dying.erase(accountId, BOB, ACTOR);
        await letTimePass(store.outside, '10 minutes');
        await resumeErasures(dying);
      };
      const died = await both().then(
        () => false,
        () => true,
      );
      if (!died) break;
      expect(await resumeErasures(erasures)).toEqual([]); // not at once: it may be at work still
      const [last] = await lookLater();
      expect(last?.pending).toEqual(result({}).pending);
      expect(await counts()).toEqual(NONE);
    }
  });

  test('by one relay of many at a time', async () => {
    for (const to of [BOB, 'eve@e.example', 'pat@p.example']) {
      await sent({ to: [to] });
      await erasures.erase(accountId, plainAddress(to) ?? '', ACTOR);
    }
    await store.outside.query('update erasures set due_at = now()');
    const looks = await Promise.all([1, 2, 3, 4].map(async () => resumeErasures(erasures)));
    expect(looks.flat()).toHaveLength(3);
  });

  test('for a request that is made anew while an older look ends', async () => {
    const repeat = async () => {
      await sent({ to: [BOB] });
      await erasures.erase(accountId, BOB, ACTOR);
    };
    const pool = hookedPool(store.db.pool, [/^select .*from erasures/, repeat]);
    await erasures.erase(accountId, BOB, ACTOR);
    await letTimePass(store.outside, '10 minutes');
    await store.outside.query('delete from erasures where account_id <> $1', [accountId]);
    expect(await resumeErasures(createErasureStore(pool))).toMatchObject([{ accountId, finished: false }]);
    expect(await counts()).toMatchObject({ erasures: 1, ids: 1 });
    await end('done');
    expect(await lookLater()).toEqual([lastResult({ events: 1, attempts: 1 })]);
    expect(await counts()).toEqual(NONE);
  });
});
