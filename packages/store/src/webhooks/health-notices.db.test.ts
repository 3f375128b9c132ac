import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { healthNotice, operatorEvent } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import { createRows, systemClock, waitFor } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createEmailStore } from '../mail/emails.ts';
import { makeNoticesAccount, NOTICES_ACCOUNT } from '../mail/send-emails.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { createHealthNoticeStore } from './health-notices.ts';
import type { HealthNoticeStore, NoticeDue, WrittenNotice } from './health-notices.ts';

const ADDRESS = 'ops@shop.example';
const LIMITS = { afterSeconds: 300, rowsMax: 20 };

const store = setupStore();
let rows: Rows;
let notices: HealthNoticeStore;
let accountId: AccountId;

beforeAll(async () => {
  rows = createRows(store.outside);
  notices = createHealthNoticeStore(store.db.pool, systemClock);
});
beforeEach(async () => {
  await rows.clear();
  accountId = await rows.account();
  await setAddress(accountId, ADDRESS);
});

const setAddress = (id: AccountId, address: string) =>
  store.outside.query('update accounts set notice_email = $2 where id = $1', [id, address]);

/** Minutes ago. null: it is well. */
async function setFailing(id: WebhookId, minutes: number | null): Promise<void> {
  const since =
    'update webhooks set failing_since = now() - make_interval(secs => 60 * $2::float8) where id = $1';
  await store.outside.query(since, [id, minutes]);
}

async function failingWebhook(minutes: number, of = accountId): Promise<WebhookId> {
  const id = await rows.webhook({ accountId: of });
  await setFailing(id, minutes);
  return id;
}

/** A mail to each account that has an address, and an event for each change. */
function both(due: NoticeDue): WrittenNotice {
  const addresses = { from: 'notices@postrider.example', to: due.address ?? '' };
  return {
    mail: due.address === null ? null : healthNotice(due, addresses, { days: 90, perWebhookMax: 10_000 }),
    event: operatorEvent(due, systemClock),
  };
}

/** @returns each webhook that got a notice, with its state. */
async function notify(limits = LIMITS, write = both): Promise<[WebhookId, 'failing' | 'recovered'][]> {
  const sent = await notices.notify(limits, write);
  return sent.map(({ due }) => [due.webhookId, due.failingSince === null ? 'recovered' : 'failing']);
}

/** Postgres undoes a failed step when it sees that the connection is closed. */
const isUnlocked = (id: WebhookId) =>
  waitFor(
    async () =>
      (await store.outside.query('select from webhooks where id = $1 for update skip locked', [id]))
        .length === 1,
    { what: 'the failed step to be undone' },
  );

const notedOf = async (id: WebhookId) => {
  const [row] = await store.outside.query(
    'select noticed_failing as failing, failing_notice_at as at from webhooks where id = $1',
    [id],
  );
  return row;
};

describe('a notice is sent', () => {
  test('once when a webhook has failed for long enough, and once when it is well again', async () => {
    const [long, short] = [await failingWebhook(5.1), await failingWebhook(4.9)];
    expect(await notify()).toEqual([[long, 'failing']]);
    expect(await notify()).toEqual([]);
    const noted = await notedOf(long);
    await setFailing(long, null);
    await setFailing(short, null);
    expect(await notify()).toEqual([[long, 'recovered']]);
    expect(await notify()).toEqual([]);
    expect(await notedOf(long)).toEqual({ ...noted, failing: false }); // the time of the failing notice
  });

  test('once more for a webhook that fails again, a day after its last failing notice', async () => {
    const id = await failingWebhook(6);
    await notify();
    await setFailing(id, null);
    await notify();
    await setFailing(id, 6);
    expect(await notify()).toEqual([]);
    const noticedHoursAgo = (hours: number) =>
      store.outside.query(
        'update webhooks set failing_notice_at = now() - make_interval(hours => $2) where id = $1',
        [id, hours],
      );
    await noticedHoursAgo(24);
    expect(await notify()).toEqual([]); // it has failed for five minutes of the new day only then
    await noticedHoursAgo(25);
    expect(await notify()).toEqual([[id, 'failing']]);
  });

  test('when the webhook has been well for as long, and not when it soon fails again', async () => {
    const id = await failingWebhook(6);
    await notify();
    const recover = async (minutes: number) => {
      await setFailing(id, null);
      const recovered =
        'update webhooks set recovered_at = now() - make_interval(secs => 60 * $2::float8) where id = $1';
      await store.outside.query(recovered, [id, minutes]);
    };
    await recover(4.9);
    expect(await notify()).toEqual([]);
    await setFailing(id, 6);
    expect(await notify()).toEqual([]); // its last notice says so
    await recover(5.1);
    expect(await notify()).toEqual([[id, 'recovered']]);
  });

  test('not at all for a failure that ends within the day of another', async () => {
    const id = await failingWebhook(6);
    await notify();
    await setFailing(id, null);
    await notify();
    await setFailing(id, 6);
    await notify();
    await setFailing(id, null);
    expect(await notify()).toEqual([]);
  });

  test('not for a webhook that is removed', async () => {
    const [failing, recovered] = [await failingWebhook(6), await failingWebhook(6)];
    await store.outside.query(
      'update webhooks set noticed_failing = true, failing_since = null where id = $1',
      [recovered],
    );
    await store.outside.query('update webhooks set removed_at = now()');
    expect(await notify()).toEqual([]);
    await store.outside.query('update webhooks set removed_at = null');
    expect(await notify()).toEqual([
      [recovered, 'recovered'],
      [failing, 'failing'],
    ]);
  });

  test('by one of several relays', async () => {
    const ids = [];
    for (let n = 0; n < 12; n += 1) ids.push(await failingWebhook(6));
    const relays = Array.from({ length: 6 }, () => notify({ ...LIMITS, rowsMax: 5 }));
    const sent = (await Promise.all(relays)).flat().map(([id]) => id);
    while (sent.length < 12) sent.push(...(await notify()).map(([id]) => id));
    expect(sent.sort()).toEqual(ids.sort());
    expect(await store.outside.query('select from emails')).toHaveLength(12);
    expect(await store.outside.query('select from operator_events')).toHaveLength(12);
  });

  test('in steps: the webhook that has failed for the longest comes first', async () => {
    const [younger, older] = [await failingWebhook(6), await failingWebhook(60)];
    expect(await notify({ ...LIMITS, rowsMax: 1 })).toEqual([[older, 'failing']]);
    expect(await notify({ ...LIMITS, rowsMax: 1 })).toEqual([[younger, 'failing']]);
  });
});

describe('a notice is stored', () => {
  test('with its mark, or not at all', async () => {
    const id = await failingWebhook(6);
    const fault = () => {
      throw new Error('the relay ends here');
    };
    await expect(notify(LIMITS, fault)).rejects.toThrow('the relay ends here');
    await isUnlocked(id);
    // The statement behind the mail fails: the mail is undone, too.
    const event = operatorEvent({ ...BARE, webhookId: id, accountId }, systemClock);
    await store.outside.query(`insert into operator_events (id, type, body) values ($1, 'x', '')`, [
      event.id,
    ]);
    await expect(notify(LIMITS, (due) => ({ ...both(due), event }))).rejects.toThrow(/duplicate key/);
    await isUnlocked(id);
    expect(await store.outside.query('select from emails')).toEqual([]);
    expect(await notedOf(id)).toEqual({ failing: false, at: null });
    expect(await notify()).toEqual([[id, 'failing']]);
    expect(await notedOf(id)).toEqual({ failing: true, at: expect.any(Date) });
  });

  test('as mail of an account of its own, in the outbox, which the customer does not see', async () => {
    const id = await failingWebhook(6);
    const [sent] = await notices.notify(LIMITS, both);
    const mail = await store.outside.query(
      `select e.account_id, e.kind::text, e.status::text, e.from_domain, e.to_addresses, s.attempts
       from emails e join email_sends s on s.email_id = e.id where e.id = $1`,
      [sent?.emailId],
    );
    expect(mail).toEqual([
      {
        account_id: NOTICES_ACCOUNT,
        kind: 'live',
        status: 'queued',
        from_domain: 'postrider.example',
        to_addresses: [ADDRESS],
        attempts: 0,
      },
    ]);
    const emails = createEmailStore(store.db, store.clock);
    const seen = await emails.list({ accountId, kind: 'live' }, { limit: 20, cursor: null });
    expect(seen?.entries).toEqual([]);
    expect(await store.outside.query('select from deliveries where webhook_id = $1', [id])).toEqual([]);
    const events = await store.outside.query('select id, type, attempts from operator_events');
    expect(events).toEqual([{ id: sent?.eventId, type: 'webhook.failing', attempts: 0 }]);
  });

  test('as sent only if somebody got one', async () => {
    const id = await failingWebhook(6);
    await notices.notify(LIMITS, () => ({ mail: null, event: null }));
    expect(await notedOf(id)).toEqual({ failing: true, at: null });
    expect(await store.outside.query('select from emails')).toEqual([]);
    expect(await store.outside.query('select from operator_events')).toEqual([]);
  });
});

const BARE = {
  endpoint: 'https://a.example/',
  failingSince: new Date(),
  recoveredAt: null,
  lastError: null,
  deadLetters: 0,
};

describe('a notice knows', () => {
  async function due(): Promise<NoticeDue | undefined> {
    const [sent] = await notices.notify(LIMITS, () => ({ mail: null, event: null }));
    return sent?.due;
  }

  test('the webhook, its last error and its dead letters, and nothing of another webhook', async () => {
    const [id, other] = [await failingWebhook(6), await rows.webhook({ accountId })];
    await store.outside.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error)
       values (now() - interval '9 s', 1, 'evt_1', $1, 1, 5, 500, 'HTTP 500'),
              (now() - interval '8 s', 1, 'evt_1', $1, 2, 5, 503, 'HTTP 503'),
              (now(), 2, 'evt_1', $2, 1, 5, 404, 'HTTP 404')`,
      [id, other],
    );
    await rows.deadLetter(id, await rows.event());
    await store.outside.query(
      `update dead_letters set last_error = 'HTTP 504', created_at = now() - interval '10 s'`,
    );
    for (let n = 0; n < 3; n += 1) await rows.deadLetter(other, await rows.event());
    expect(await due()).toEqual({
      webhookId: id,
      accountId,
      endpoint: 'https://hooks.example/in',
      failingSince: expect.any(Date),
      recoveredAt: null,
      lastError: 'HTTP 503',
      deadLetters: 1,
      address: ADDRESS,
      suppressed: false,
      mailProvider: null,
    });
  });

  test.each([
    ['no attempt', []],
    ['an old success', [[200, null]]],
    ['an old failure', [[503, 'HTTP 503']]],
  ])('why deliveries are refused, behind %s: a refusal is no attempt', async (_, logged) => {
    const id = await failingWebhook(6);
    for (const [status, error] of logged) {
      await store.outside.query(
        `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error)
         values (now() - interval '1 hour', 1, 'evt_1', $1, 1, 5, $2, $3)`,
        [id, status, error],
      );
    }
    await rows.deadLetter(id, await rows.event());
    await store.outside.query(`update dead_letters set created_at = now() - interval '2 hours'`);
    const refused = await rows.deadLetter(id, await rows.event());
    const error = 'refused address 10.0.0.1 (private)';
    await store.outside.query('update dead_letters set last_error = $2 where id = $1', [refused, error]);
    expect(await due()).toMatchObject({ webhookId: id, lastError: error });
    await setFailing(id, null);
    expect(await due()).toMatchObject({ webhookId: id, lastError: null });
  });

  test("its own account's address, or that there is none", async () => {
    const other = await rows.account();
    await failingWebhook(6, other);
    expect(await due()).toMatchObject({ address: null, suppressed: false });
  });

  test.each<[string, boolean, () => Promise<unknown>]>([
    ['by its account', true, () => suppress(accountId, ADDRESS)],
    ["by Postrider's own mail", true, () => suppress(NOTICES_ACCOUNT, ADDRESS)],
    ['by another account', false, async () => suppress(await rows.account(), ADDRESS)],
    ['about a topic', false, () => unsubscribe(accountId, ADDRESS)],
    ['only as another address', false, () => suppress(accountId, `x${ADDRESS}`)],
  ])('whether the address is suppressed: %s', async (_, suppressed, arrange) => {
    await makeNoticesAccount(store.db.pool);
    await failingWebhook(6);
    await arrange();
    expect(await due()).toMatchObject({ address: ADDRESS, suppressed });
  });

  const suppress = (of: AccountId, address: string) =>
    createSuppressionStore(store.db, store.clock).add(of, [address]);
  const unsubscribe = (of: AccountId, address: string) =>
    store.outside.query(
      `insert into suppressions (account_id, id, address, topic_id, origin, created_at)
       values ($1, 'sup_1', $2, 'top_1', 'unsubscribe', now())`,
      [of, address],
    );
});
