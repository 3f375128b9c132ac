import { expect, test } from '@jest/globals';
import { parseId } from './ids.ts';
import type { AccountId } from './ids.ts';
import { recordEvent } from './record-event.ts';
import type { EventDraft, EventRecord } from './record-event.ts';

const clock = { now: () => new Date('2026-11-20T10:15:30.120Z') };
const accountId = 'acct_01jd0000000000000000000002' as AccountId;

function outbox() {
  const written: EventRecord[] = [];
  return { written, tx: { appendEvent: async (event: EventRecord) => void written.push(event) } };
}

const sent: EventDraft = {
  type: 'email.sent',
  accountId,
  data: { email_id: 'em_1', from: 'a@example.com', subject: 'Hi', error: null },
};

test('an event is written once, with the text that every attempt will send', async () => {
  const { written, tx } = outbox();
  const id = await recordEvent(tx, sent, clock);
  expect(parseId('event', id)).toBe(id);
  expect(written).toEqual([
    {
      id,
      accountId,
      type: 'email.sent',
      createdAt: clock.now(),
      data: '{"email_id":"em_1","from":"a@example.com","subject":"Hi","error":null}',
      inboundSubject: null,
    },
  ]);
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
  const tx = { appendEvent: () => Promise.reject(new Error('connection lost')) };
  await expect(recordEvent(tx, sent, clock)).rejects.toThrow('connection lost');
});
