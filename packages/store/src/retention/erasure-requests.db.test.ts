import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { recordEvent } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import { ACTOR, createRows, systemClock, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { draftOf } from '../../test/draft.ts';
import { endDeliveries, sendMail, sendToProvider } from '../../test/ended-mail.ts';
import { letTimePass } from '../../test/let-time-pass.ts';
import { setupStore } from '../../test/open-store.ts';
import { resumeErasures } from '../../test/resume-erasures.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { NOTICES_ACCOUNT } from '../mail/send-emails.ts';
import { createHealthNoticeStore } from '../webhooks/health-notices.ts';
import { createErasureStore } from './erasures.ts';
import type { ErasureStore } from './erasures.ts';

/* Several requests at the same time, and the forms in which mail writes an address. */

const BOB = 'bob@b.example';

const store = setupStore();
let rows: Rows;
let erasures: ErasureStore;
let accountId: AccountId;

beforeAll(() => {
  rows = createRows(store.outside);
  erasures = createErasureStore(store.db.pool);
});
beforeEach(async () => {
  await rows.clear();
  accountId = await rows.account();
});

test('the request that was due first is resumed first', async () => {
  const late = await rows.account();
  for (const id of [accountId, late]) await erasures.erase(id, BOB, ACTOR);
  await store.outside.query(
    `update erasures set due_at = now() - case account_id when $1 then interval '2 hours' else interval '1 hour' end`,
    [late],
  );
  const resumed = (await resumeErasures(erasures)).map((each) => each.accountId);
  expect(resumed.filter((id) => id !== NOTICES_ACCOUNT)).toEqual([late, accountId]);
});

test('a message that two requests have erased stays noted for the other request', async () => {
  for (const address of [BOB, 'eve@e.example']) await erasures.erase(accountId, address, ACTOR);
  await store.outside.query(`update erasures set due_at = 'infinity' where address <> $1`, [BOB]);
  await store.outside.query(
    `insert into erased_emails (account_id, address, email_id) values ($1, $2, 'em_1'), ($1, 'eve@e.example', 'em_1')`,
    [accountId, BOB],
  );
  await letTimePass(store.outside, '10 minutes');
  expect(await resumeErasures(erasures)).toMatchObject([{ accountId, finished: true }]);
  expect(await store.outside.query('select address from erased_emails')).toEqual([
    { address: 'eve@e.example' },
  ]);
});

test('a notice that is written while the erasure waits for the account is erased, too', async () => {
  await store.outside.query('update accounts set notice_email = $2 where id = $1', [accountId, BOB]);
  await rows.webhook({ accountId });
  await store.outside.query(`update webhooks set failing_since = now() - interval '6 minutes'`);
  const notices = createHealthNoticeStore(store.db.pool, systemClock);
  const erasing = await inUndoneTransaction(store.db.pool, async (other) => {
    await other.query('select from accounts where id = $1 for no key update', [accountId]);
    const waiting = erasures.erase(accountId, BOB, ACTOR);
    await untilWaitingForLock(store.outside);
    const mail = draftOf({ to: [BOB], cc: [], bcc: [] });
    const sent = await notices.notify({ afterSeconds: 300, rowsMax: 1 }, () => ({ mail, event: null }));
    expect(sent).toMatchObject([{ due: { address: BOB } }]);
    return { waiting };
  });
  await erasing.waiting;
  await store.outside.query('delete from email_sends'); // sent
  await letTimePass(store.outside, '10 minutes');
  await resumeErasures(erasures);
  expect(await store.outside.query('select to_addresses from emails')).toEqual([]);
});

describe('an address is erased', () => {
  test.each([
    ['in needless quotes', '"Bob"@b.example', BOB],
    ['in the quotes that it needs', '"Bob B"@b.example', '"bob b"@b.example'],
    ['with an escaped letter', '"b\\ob"@b.example', BOB],
    ['with a decomposed letter at the end', 'Andre\u0301@b.example', 'andr\u00e9@b.example'],
    ['with a decomposed letter', 'Zoe\u0308@b.example', 'zo\u00eb@b.example'],
    ['with the Kelvin sign', 'Jac\u212a@b.example', 'jack@b.example'],
    ['with the other backtick', 'a\u1fef@b.example', 'a`@b.example'],
  ])('%s', async (_form, written, address) => {
    const webhookId = await rows.webhook({ accountId });
    for (const result of ['done', 'dead'] as const) {
      await sendToProvider(store, await sendMail(store, accountId, { to: [written] }));
      await endDeliveries(store, webhookId, result);
    }
    await store.outside.query('delete from events where id = (select min(id) from events)');
    expect(await erasures.erase(accountId, address, ACTOR)).toMatchObject({
      erased: { emails: 2, events: 1, deadLetters: 1 },
    });
  });

  test('in an event that names no message', async () => {
    await rows.webhook({ accountId });
    const data = { email_id: null, to: '"bob"@b.example', topic: null, scope: 'all', source: 'api' } as const;
    await store.db.transactions.run(async (tx) => {
      const occurred = { ...data, occurred_at: '2026-03-01T12:00:00.000Z' };
      await recordEvent(tx, { type: 'email.unsubscribed', accountId, data: occurred }, store.clock);
    });
    await store.outside.query('delete from deliveries');
    expect(await erasures.erase(accountId, BOB, ACTOR)).toMatchObject({ erased: { events: 1 } });
  });
});
