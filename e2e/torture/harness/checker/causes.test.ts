import { describe, expect, test } from '@jest/globals';
import { check } from './check.ts';
import type { History, StoreState, Violation } from './history.ts';
import { rightHistory } from './sample-history.ts';

const MESSAGE = { id: 'msg_1', header: 'a@shop.example', status: 'received' };

interface Changes {
  readonly messages?: StoreState['messages'];
  /** The types of the events of `msg_1`. */
  readonly types?: readonly string[];
  /** The outcome that the sender knows. */
  readonly outcome?: History['causes'][number]['outcome'];
}

/** The violations of a right history with one more received message. */
function violationsOf({
  messages = [MESSAGE],
  types = ['message.received'],
  outcome = 'ok',
}: Changes): readonly Violation[] {
  const right = rightHistory();
  const events = types.map((type, index) => ({
    id: `evt_mail_${index}`,
    accountId: 'acct_2',
    type,
    createdAtMs: 1_000_000,
    emailId: null,
    messageId: 'msg_1',
  }));
  const cause = { kind: 'message' as const, outcome, id: null, beganAtMs: 0, endedAtMs: 1 };
  return check({
    ...right,
    causes: [...right.causes, { ...cause, cause: MESSAGE.header }],
    store: { ...right.store, messages, events: [...right.store.events, ...events] },
  }).violations;
}

describe('I3, mail that came in', () => {
  test('with one record and one event is right, whatever the sender has heard; a held one likewise', () => {
    expect(violationsOf({})).toEqual([]);
    expect(violationsOf({ outcome: 'unknown' })).toEqual([]);
    expect(violationsOf({ messages: [{ ...MESSAGE, status: 'held' }], types: ['message.held'] })).toEqual([]);
  });

  test.each([
    ['no event', { types: [] }],
    ['two events', { types: ['message.received', 'message.received'] }],
    ['the event of a held one', { types: ['message.held'] }],
    ['heard 250 and is not there', { messages: [], types: [] }],
    ['an event and no record', { messages: [], outcome: 'unknown' as const }],
    ['heard that it is refused, and is there', { outcome: 'failed' as const }],
  ])('with %s is found', (_, changes) => {
    expect(violationsOf(changes)).toMatchObject([{ invariant: 'I3' }]);
  });

  test('that was stored twice is found', () => {
    const again = { ...MESSAGE, id: 'msg_2' };
    expect(violationsOf({ messages: [MESSAGE, again] }).map(({ text }) => text)).toEqual([
      'message msg_2 is received and has the events []',
      'message cause a@shop.example was stored 2 times',
    ]);
  });
});
