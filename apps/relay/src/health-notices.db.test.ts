import { beforeEach, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { createHealthNoticeStore } from '@postrider/store';
import { systemClock } from '@postrider/testing';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';
import { healthNoticesPass } from './health-notices.ts';
import type { HealthNoticesConfig } from './health-notices.ts';

const ADDRESS = 'ops@shop.example';
const CONFIG: HealthNoticesConfig = {
  webhookFailingNoticeMinutes: 5,
  noticeMailFrom: undefined,
  operatorWebhookUrl: undefined,
  deadLetterRetentionDays: 90,
  deadLettersPerWebhookMax: 10_000,
};

const store = setupRelayStore();
let lines: LoggedLine[];
let queued: number;
let accountId: AccountId;
let webhookId: WebhookId;

beforeEach(async () => {
  lines = [];
  queued = 0;
  accountId = await store.rows.account();
  webhookId = await store.rows.webhook({ accountId });
  await store.database.query('update accounts set notice_email = $2 where id = $1', [accountId, ADDRESS]);
  await failFor(6);
});

/** null: the webhook is well. */
const failFor = (minutes: number | null) =>
  store.database.query(
    'update webhooks set failing_since = now() - make_interval(mins => $2) where id = $1',
    [webhookId, minutes],
  );

const run = (config: Partial<HealthNoticesConfig> = {}) =>
  healthNoticesPass({
    store: createHealthNoticeStore(store.pool, systemClock),
    config: { ...CONFIG, ...config },
    clock: systemClock,
    logger: keepingLogger(lines),
    onNoticesMade: () => void (queued += 1),
  });

interface Mail {
  readonly id: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
}

const mails = () =>
  store.database.query<Mail>('select id, from_address as "from", to_addresses as "to", subject from emails');
const operatorEvents = () =>
  store.database.query<{ id: string; type: string }>(
    'select id, type from operator_events order by created_at',
  );

test('a failing webhook has a mail from the sandbox’s address, and another when it is well again', async () => {
  expect(await run()).toBe(5_000);
  await failFor(null);
  await run();
  await run();
  const [failing, recovered] = await mails();
  expect(failing).toMatchObject({ from: 'Postrider <notices@postrider.example>', to: [ADDRESS] });
  expect([failing?.subject, recovered?.subject]).toEqual([
    `Webhook ${webhookId} fails: hooks.example`,
    `Webhook ${webhookId} is well again: hooks.example`,
  ]);
  expect(queued).toBe(2);
  const line = (state: string, email?: Mail) => {
    const fields = { webhook_id: webhookId, account_id: accountId, state, email_id: email?.id };
    return { level: 'info', msg: 'notice.queued', fields };
  };
  expect(lines).toEqual([line('failing', failing), line('recovered', recovered)]);
  expect(await operatorEvents()).toEqual([]);
});

test('the setting says how long a webhook fails before its notice', async () => {
  await run({ webhookFailingNoticeMinutes: 6.5 });
  expect(await mails()).toEqual([]);
  await run({ webhookFailingNoticeMinutes: 5.5 });
  expect(await mails()).toHaveLength(1);
});

test('with another provider than the sandbox, mail goes from NOTICE_MAIL_FROM only', async () => {
  await store.database.query(`insert into installation (mail_provider) values ('smtp')`);
  await run();
  expect(await mails()).toEqual([]);
  expect(lines).toMatchObject([
    {
      level: 'warn',
      msg: 'notice.not_mailed',
      fields: { state: 'failing', reason: 'NOTICE_MAIL_FROM is not set' },
    },
  ]);
  await failFor(null);
  await run({ noticeMailFrom: 'Ops <ops@postrider.test>' });
  expect(await mails()).toMatchObject([{ from: 'Ops <ops@postrider.test>', to: [ADDRESS] }]);
});

test('a suppressed address gets no mail; the log says so, and the operator gets the event', async () => {
  await store.database.query(
    `insert into suppressions (account_id, id, address, origin, created_at) values ($1, 'sup_1', $2, 'bounce', now())`,
    [accountId, ADDRESS],
  );
  await run({ operatorWebhookUrl: 'https://operator.example/' });
  expect(await mails()).toEqual([]);
  const [event] = await operatorEvents();
  const fields = { webhook_id: webhookId, account_id: accountId, state: 'failing' };
  expect(lines).toEqual([
    { level: 'info', msg: 'notice.queued', fields: { ...fields, operator_event_id: event?.id } },
    {
      level: 'warn',
      msg: 'notice.not_mailed',
      fields: { ...fields, reason: 'the notice address is suppressed' },
    },
  ]);
});

test('without an address and without an operator, nothing is sent and nothing is logged', async () => {
  await store.database.query('update accounts set notice_email = null');
  await run();
  expect([await mails(), await operatorEvents(), lines]).toEqual([[], [], []]);
});

test('with more webhooks than a step takes, the next step follows at once', async () => {
  for (let n = 0; n < 20; n += 1) await store.rows.webhook({ accountId });
  await store.database.query(`update webhooks set failing_since = now() - interval '1 h'`);
  expect(await run()).toBe(20);
  expect(await run()).toBe(5_000);
  expect(await mails()).toHaveLength(21);
});
