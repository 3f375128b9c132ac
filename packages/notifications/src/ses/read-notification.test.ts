import { describe, expect, test } from '@jest/globals';
import type { AccountId, EmailId, EventBatch, ReportedEvent } from '@postrider/domain';
import { reportedEventDraft, recordEvent } from '@postrider/domain';
import { fakeClock, runs, sesSampleText } from '@postrider/testing';
import fc from 'fast-check';
import { envelopes, expectedEvents, sample } from '../../test/samples.ts';
import { readSesNotification } from './read-notification.ts';
import type { SesEvent } from './read-notification.ts';

const publishedAt = '2026-11-20T10:15:36.675Z';
const clock = fakeClock();

/** The `data` that an endpoint would get, checked by the domain's schema. */
async function sentEvent({ emailId, event }: SesEvent): Promise<{ type: string; data: unknown }> {
  const batches: EventBatch[] = [];
  const email = {
    id: (emailId ?? 'em_unknown') as EmailId,
    accountId: 'acct_1' as AccountId,
    from: '<stored>',
    subject: '<stored>',
    recipients: [],
  };
  const tx = { appendEvents: async (batch: EventBatch) => void batches.push(batch) };
  await recordEvent(tx, reportedEventDraft(event, email), clock);
  expect(batches).toHaveLength(1);
  return { type: batches[0]?.type ?? '', data: JSON.parse(batches[0]?.events[0]?.data ?? '') };
}

/** The reading, with the event's fields beside its other fields. */
function eventOf(notification: unknown): SesEvent & ReportedEvent {
  const reading = readSesNotification(JSON.stringify(notification), publishedAt);
  if (reading.kind === 'ignored') throw new Error(`ignored: ${reading.why}`);
  return { ...reading, ...reading.event };
}

function reportOf(notification: unknown): Extract<SesEvent & ReportedEvent, { recipients: unknown }> {
  const event = eventOf(notification);
  if (event.type === 'email.failed') throw new Error('a rendering failure');
  return event;
}

const bounce = () => sample('05-bounce-permanent-general');
const complaint = () => sample('10-complaint-abuse');

describe('the samples', () => {
  const both = (name: string): [string, string][] => {
    const { eventType, ...rest } = sample(name);
    return [
      [`${name} as eventType`, sesSampleText(name)],
      [`${name} as notificationType`, JSON.stringify({ notificationType: eventType, ...rest })],
    ];
  };
  const cases = Object.entries(expectedEvents).flatMap(([name, expected]) =>
    both(name).map(([title, text]) => [title, text, expected] as const),
  );

  test.each(cases.filter(([, , expected]) => expected !== null))(
    '%s makes its one event',
    async (_, text, expected) => {
      const event = eventOf(JSON.parse(text));
      expect(await sentEvent(event)).toEqual(expected);
      expect(event.providerMessageId).toBe('0100019a1b2c3d4e-5f607182-93a4-4b5c-8d6e-7f8091a2b3c4-000000');
    },
  );

  test.each(cases.filter(([, , expected]) => expected === null))('%s makes no event', (_, text) => {
    expect(readSesNotification(text, publishedAt)).toEqual({
      kind: 'ignored',
      why: 'of a type that makes no event',
    });
  });

  test('the message inside an SNS envelope reads as itself', async () => {
    const reading = eventOf(JSON.parse(envelopes.notification['Message'] ?? ''));
    expect(await sentEvent(reading)).toEqual(expectedEvents['05-bounce-permanent-general']);
  });
});

describe('the type', () => {
  test.each([
    ['Permanent', 'email.bounced'],
    ['Transient', 'email.soft_bounced'],
    ['Undetermined', 'email.soft_bounced'],
    ['SomethingNew', 'email.soft_bounced'],
  ])('of a %s bounce is %s, and its words pass through', (bounceType, type) => {
    const notification = bounce();
    Object.assign(notification['bounce'] ?? {}, { bounceType, bounceSubType: 'SubTypeToCome' });
    expect(reportOf(notification)).toMatchObject({
      type,
      detail: { bounce_type: bounceType, bounce_sub_type: 'SubTypeToCome' },
    });
  });

  test('of a failed rendering is email.failed, however SES writes it and whether or not it says why', () => {
    const notification = { ...sample('17-rendering-failure'), eventType: 'RenderingFailure', failure: {} };
    expect(eventOf(notification)).toMatchObject({
      type: 'email.failed',
      error: 'the template could not be rendered',
    });
  });
});

describe('what makes no event', () => {
  test.each<[string, string, string]>([
    ['a notice in plain text', envelopes.plainText['Message'] ?? '', 'not a JSON object'],
    ['no text', '', 'not a JSON object'],
    ['a list', '[]', 'not a JSON object'],
    ['null', 'null', 'not a JSON object'],
    ['a number', '1', 'not a JSON object'],
    ['an empty object', '{}', 'no eventType and no notificationType'],
    ['a type that is a number', '{"eventType":1}', 'no eventType and no notificationType'],
    [
      "SES's notice of a subscription",
      '{"notificationType":"AmazonSnsSubscriptionSucceeded","message":"You have successfully subscribed"}',
      'of a type that makes no event',
    ],
    ['received mail', '{"notificationType":"Received","content":"x"}', 'of a type that makes no event'],
    [
      'the name of a property of every object',
      '{"eventType":"constructor"}',
      'of a type that makes no event',
    ],
    ['the name of every prototype', '{"eventType":"__proto__"}', 'of a type that makes no event'],
    ['a bounce of no message', '{"eventType":"Bounce"}', 'names no message'],
    ['a failure of no message', '{"eventType":"Rendering Failure"}', 'names no message'],
    ['a bounce of nobody', '{"eventType":"Bounce","mail":{"messageId":"1"}}', 'names no recipient'],
  ])('%s', (_, text, why) => {
    expect(readSesNotification(text, publishedAt)).toEqual({ kind: 'ignored', why });
  });
});

describe('recipients', () => {
  test('are all whom the notification names, each once, in its order, and make one event', () => {
    const notification = bounce();
    const emailAddresses = ['b@example.net', 'a@example.net', 'b@example.net', 'c@example.net'];
    Object.assign(notification['bounce'] ?? {}, {
      bouncedRecipients: emailAddresses.map((emailAddress) => ({ emailAddress })),
    });
    expect(reportOf(notification).recipients).toEqual(['b@example.net', 'a@example.net', 'c@example.net']);
  });

  test('are plain addresses, also where SES has a name before them', () => {
    const notification = bounce();
    Object.assign(notification['bounce'] ?? {}, {
      bouncedRecipients: [{ emailAddress: 'Jane Doe <jane@example.net>' }, { emailAddress: 'no address' }],
    });
    expect(reportOf(notification)).toMatchObject({
      recipients: ['jane@example.net', 'no address'],
      suppress: [{ address: 'jane@example.net', reason: 'bounce' }],
    });
  });

  test('are those of the mail when the bounce names none, and then nobody is suppressed', () => {
    const notification = bounce();
    Object.assign(notification['bounce'] ?? {}, { bouncedRecipients: [] });
    expect(reportOf(notification)).toMatchObject({
      type: 'email.bounced',
      recipients: ['jane@example.net', 'mary@example.org', 'richard@example.org'],
      suppress: [],
    });
  });

  test('may be a hundred thousand', () => {
    const notification = bounce();
    const count = 100_000;
    Object.assign(notification['bounce'] ?? {}, {
      bouncedRecipients: Array.from({ length: count }, (_, n) => ({ emailAddress: `a${n}@example.net` })),
    });
    const { recipients, suppress } = reportOf(notification);
    expect(recipients).toHaveLength(count);
    expect(suppress).toHaveLength(count);
  });
});

describe('suppressed is', () => {
  test.each([
    ['05-bounce-permanent-general', [{ address: 'jane@example.net', reason: 'bounce' }]],
    ['08-bounce-transient-mailbox-full', []],
    ['10-complaint-abuse', [{ address: 'richard@example.org', reason: 'complaint' }]],
    ['02-delivery-one-of-three', []],
    ['03-delivery-delay', []],
    ['14-reject', []],
    ['15-open', []],
    ['16-click', []],
  ])('by %s: %j', (name, suppress) => {
    expect(reportOf(sample(name)).suppress).toEqual(suppress);
  });

  test.each(['not-spam', 'Not-Spam'])('nobody by a complaint taken back as %s, which is reported', (word) => {
    const notification = complaint();
    Object.assign(notification['complaint'] ?? {}, { complaintFeedbackType: word });
    expect(reportOf(notification)).toMatchObject({
      type: 'email.complained',
      recipients: ['richard@example.org'],
      detail: { complaint_type: word },
      suppress: [],
    });
  });

  test('an address on the suppression list of SES, to which SES sent nothing', () => {
    const notification = complaint();
    Object.assign(notification['complaint'] ?? {}, {
      complaintFeedbackType: undefined,
      complaintSubType: 'OnAccountSuppressionList',
    });
    expect(reportOf(notification)).toMatchObject({
      type: 'email.complained',
      recipients: ['richard@example.org'],
      detail: { complaint_type: 'OnAccountSuppressionList' },
      suppress: [{ address: 'richard@example.org', reason: 'complaint' }],
    });
  });

  test('everyone who complained in a way that is new', () => {
    const notification = complaint();
    Object.assign(notification['complaint'] ?? {}, { complaintFeedbackType: 'to-come' });
    expect(reportOf(notification).suppress).toHaveLength(1);
  });
});

describe('detail', () => {
  test('has the kind of a delay for a diagnostic when its first recipient has none', () => {
    const notification = sample('03-delivery-delay');
    Object.assign(notification['deliveryDelay'] ?? {}, {
      delayedRecipients: [
        { emailAddress: 'mary@example.org' },
        { emailAddress: 'jane@example.net', diagnosticCode: 'smtp; 421 second' },
      ],
    });
    expect(reportOf(notification).detail.diagnostic).toBe('TransientCommunicationFailure');
  });

  test('has the diagnostic of the first recipient of several', () => {
    const notification = bounce();
    Object.assign(notification['bounce'] ?? {}, {
      bouncedRecipients: [
        { emailAddress: 'a@example.net', diagnosticCode: 'smtp; 550 first' },
        { emailAddress: 'b@example.net', diagnosticCode: 'smtp; 550 second' },
      ],
    });
    expect(reportOf(notification).detail.diagnostic).toBe('smtp; 550 first');
  });

  test('is null where a bounce brought no report of the receiving server', () => {
    const notification = bounce();
    Object.assign(notification['bounce'] ?? {}, { bouncedRecipients: [{ emailAddress: 'a@example.net' }] });
    expect(reportOf(notification).detail.diagnostic).toBeNull();
  });

  test('holds nothing that a database could not keep', () => {
    const notification = sample('16-click');
    Object.assign(notification['click'] ?? {}, { link: 'https://a.example/\u0000\ud83d!\u{1f4ec}' });
    expect(reportOf(notification).detail.link).toBe('https://a.example/\ufffd\ufffd!\u{1f4ec}');
  });
});

describe('a machine', () => {
  test.each<[unknown, boolean | null]>([
    ['Likely', true],
    ['Unlikely', false],
    [undefined, null],
    [null, null],
    ['', null],
    ['likely', null],
    ['Unknown', null],
    [true, true],
    [false, false],
    [1, null],
    [{}, null],
  ])('is reported as isBotEvent %j: %j', async (isBotEvent, machine) => {
    for (const [name, part] of [
      ['15-open', 'open'],
      ['16-click', 'click'],
    ] as const) {
      const notification = sample(name);
      Object.assign(notification[part] ?? {}, { isBotEvent });
      const event = eventOf(JSON.parse(JSON.stringify(notification)));
      expect(await sentEvent(event)).toMatchObject({ data: { machine } });
    }
  });

  test('is reported of opens and clicks alone', async () => {
    const notification = bounce();
    Object.assign(notification['bounce'] ?? {}, { isBotEvent: 'Likely' });
    Object.assign(notification, { open: { isBotEvent: 'Likely' } });
    expect((await sentEvent(eventOf(notification))).data).not.toHaveProperty('machine');
  });
});

describe('whose it is', () => {
  const of = (mail: object) => eventOf({ ...bounce(), mail: { ...bounce()['mail'], ...mail } });

  test('says the tag and the message id of the provider', () => {
    expect(of({})).toMatchObject({
      emailId: 'em_01JD0000000000000000000001',
      providerMessageId: '0100019a1b2c3d4e-5f607182-93a4-4b5c-8d6e-7f8091a2b3c4-000000',
    });
  });

  test.each([undefined, null, {}, { email_id: [] }, { email_id: 'em_1' }, { email_id: [7] }, 'tags'])(
    'says the message id alone when the tags are %j',
    (tags) => {
      expect(of({ tags })).toMatchObject({ emailId: null, providerMessageId: expect.any(String) });
    },
  );

  describe('says, where there is no tag, the Message-ID that the mail was composed with', () => {
    const id = 'em_01jd0000000000000000000001';
    const written = (value: unknown, more: object = {}) =>
      of({ tags: {}, headers: [{ name: 'From', value: 'a' }, 7, { name: 'Message-Id', value }], ...more })
        .writtenEmailId;

    test('if it is one of ours', () => {
      expect(written(`<${id}@a.example>`)).toBe(id);
      expect(written(`<${id}@a.example>`, { messageId: null })).toBe(id);
      expect(written(`<${id}@a.example>`, { tags: { email_id: ['em_1'] } })).toBeNull();
    });

    test.each([
      `<x${id}@a.example>`,
      `<${id}>`,
      `${id}@a.example`,
      `<${id}@a.example> <b@b.example>`,
      '<em_1@a.example>',
      '',
      null,
      [id],
    ])('if it is one of ours, which %j is not', (value) => {
      expect(written(value)).toBeNull();
    });
  });

  test('says the tag alone when there is no message id', () => {
    expect(of({ messageId: null })).toMatchObject({ emailId: expect.any(String), providerMessageId: null });
  });
});

describe('occurred_at', () => {
  const at = (timestamp: unknown, mailTimestamp: unknown = '2026-11-20T10:15:30.123Z') => {
    const notification = bounce();
    Object.assign(notification['bounce'] ?? {}, { timestamp });
    Object.assign(notification['mail'] ?? {}, { timestamp: mailTimestamp });
    return reportOf(notification).occurredAt;
  };

  test.each([
    ['2026-11-20T10:15:34Z', '2026-11-20T10:15:34.000Z'],
    ['2026-11-20T10:15:34.5Z', '2026-11-20T10:15:34.500Z'],
    ['2026-11-20T12:15:34+02:00', '2026-11-20T10:15:34.000Z'],
  ])('of %s is %s', (timestamp, occurredAt) => {
    expect(at(timestamp)).toBe(occurredAt);
  });

  test('is the time of the mail when the notification has none that can be read', () => {
    for (const timestamp of [undefined, null, 1_763_633_732, 'soon']) {
      expect(at(timestamp)).toBe('2026-11-20T10:15:30.123Z');
    }
  });

  test('is the time of publication when the mail has none either', () => {
    expect(at('soon', 'later')).toBe(publishedAt);
  });
});

describe('hostile texts', () => {
  const names = Object.keys(expectedEvents);
  /** Every object and list in a sample, with the place where it hangs. */
  const placesIn = (value: unknown): { holder: Record<string, unknown>; key: string }[] =>
    typeof value !== 'object' || value === null
      ? []
      : Object.entries(value).flatMap(([key, inner]) => [
          { holder: value as Record<string, unknown>, key },
          ...placesIn(inner),
        ]);

  test('never throw, and what they make is an event as the contract has it', async () => {
    let events = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...names),
        fc.array(fc.record({ at: fc.nat(), value: fc.jsonValue() }), { minLength: 1, maxLength: 4 }),
        async (name, changes) => {
          const notification = sample(name);
          for (const { at, value } of changes) {
            const places = placesIn(notification);
            const place = places[at % places.length];
            if (place !== undefined) place.holder[place.key] = value;
          }
          const reading = readSesNotification(JSON.stringify(notification), publishedAt);
          if (reading.kind === 'ignored') return;
          events += 1;
          await sentEvent(reading);
        },
      ),
      { numRuns: runs({ usual: 500, long: 50_000 }) },
    );
    expect(events).toBeGreaterThan(50);
  });

  test('of any kind never throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(readSesNotification(text, publishedAt).kind).toBe('ignored');
      }),
    );
  });

  test.each([
    ['prototypes', '{"__proto__":{"eventType":"Bounce"},"constructor":{"prototype":{"eventType":"Bounce"}}}'],
    ['depth', `{"eventType":"Bounce","mail":${'{"mail":'.repeat(60_000)}1${'}'.repeat(60_000)}}`],
    [
      'lists in lists',
      `{"eventType":"Bounce","bounce":{"bouncedRecipients":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`,
    ],
  ])('of %s make no event', (_, text) => {
    expect(readSesNotification(text, publishedAt).kind).toBe('ignored');
    expect(({} as Record<string, unknown>)['eventType']).toBeUndefined();
  });

  test('of a hundred thousand recipients that are none make no event', () => {
    const bouncedRecipients = Array.from({ length: 100_000 }, (_, n) =>
      n % 2 === 0 ? n : { emailAddress: [n] },
    );
    const text = JSON.stringify({
      eventType: 'Bounce',
      mail: { messageId: '1' },
      bounce: { bouncedRecipients },
    });
    expect(readSesNotification(text, publishedAt)).toEqual({ kind: 'ignored', why: 'names no recipient' });
  });
});
