import { expect, test } from '@jest/globals';
import { notificationDetailOf } from './event-data.ts';
import { parseId } from './ids.ts';
import type { AccountId } from './ids.ts';
import { newEvents, recordEvent } from './record-event.ts';
import type { EventBatch, EventDraft } from './record-event.ts';

const clock = { now: () => new Date('2026-11-20T10:15:30.120Z') };
const accountId = 'acct_01jd0000000000000000000002' as AccountId;

function outbox() {
  const written: EventBatch[] = [];
  return { written, tx: { appendEvents: async (batch: EventBatch) => void written.push(batch) } };
}

const sent = {
  type: 'email.sent',
  accountId,
  data: { email_id: 'em_1', from: 'a@example.com', subject: 'Hi', error: null },
} as const satisfies EventDraft;

test('an event is written once, with the text that every attempt will send', async () => {
  const { written, tx } = outbox();
  const id = await recordEvent(tx, sent, clock);
  expect(parseId('event', id)).toBe(id);
  expect(written).toEqual([
    {
      accountId,
      type: 'email.sent',
      inboundSubject: null,
      events: [
        {
          id,
          data: '{"email_id":"em_1","from":"a@example.com","subject":"Hi","error":null}',
          recipients: [],
        },
      ],
    },
  ]);
});

test('an event is found by the recipients that its data names, or that its cause gives', () => {
  const occurred_at = '2026-11-20T10:15:30.120Z';
  const detail = notificationDetailOf({});
  const recipients = ['Bob <BOB@b\u00fccher.example>', 'bob@xn--bcher-kva.example', 'no address'];
  const delivered = { email_id: 'em_1', recipients, occurred_at, detail };
  expect(newEvents('email.delivered', [delivered], clock).events[0]?.recipients).toEqual([
    'bob@xn--bcher-kva.example',
  ]);
  const unsubscribed = {
    ...{ email_id: null, to: 'Ann@a.example', topic: null, occurred_at },
    ...({ scope: 'all', source: 'api' } as const),
  };
  expect(newEvents('email.unsubscribed', [unsubscribed], clock).events[0]?.recipients).toEqual([
    'ann@a.example',
  ]);
  expect(newEvents('email.sent', [sent.data], clock, [['c@c.example']]).events[0]?.recipients).toEqual([
    'c@c.example',
  ]);
});

test("events for a cause's own statement are as those that are recorded, and as strict", async () => {
  const { written, tx } = outbox();
  await recordEvent(tx, sent, clock);
  const id = expect.stringMatching(/^evt_/) as unknown;
  const { type, events } = newEvents('email.sent', [sent.data], clock);
  expect(written).toMatchObject([{ type, events: [{ data: events[0]?.data, id }] }]);
  expect(events[0]?.id).toEqual(id);
  const wrong = { ...sent.data, extra: true };
  expect(() => newEvents('email.sent', [sent.data, wrong], clock)).toThrow('extra');
});

test("an inbound rule's event also matches that rule's own subject", async () => {
  const { written, tx } = outbox();
  await recordEvent(tx, { ...sent, inboundRule: 'rule_7' }, clock);
  expect(written[0]?.inboundSubject).toBe(`${accountId}/inbound/rule_7`);
});

test('data that the contract does not state is never written, and its cause hears of it', async () => {
  const { written, tx } = outbox();
  const wrong = { ...sent, data: { ...sent.data, extra: true } };
  await expect(recordEvent(tx, wrong, clock)).rejects.toThrow('extra');
  expect(written).toEqual([]);
});

test('a transaction that fails fails the event', async () => {
  const tx = { appendEvents: () => Promise.reject(new Error('connection lost')) };
  await expect(recordEvent(tx, sent, clock)).rejects.toThrow('connection lost');
});
