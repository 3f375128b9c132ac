import { describe, expect, test } from '@jest/globals';
import { envelopeBytes, EVENT_DATA, EVENT_TYPES, parseId } from '@postrider/domain';
import type { EventId } from '@postrider/domain';
import { newEvent } from './sample-event.ts';
import { SAMPLES } from './samples.ts';

const now = new Date('2026-11-26T10:00:00.123Z');

test('there is one sample of each event type', () => {
  expect(SAMPLES.map(({ type }) => type)).toEqual(EVENT_TYPES);
});

test('the sample of email.unsubscribed has a scope and a source that the service sends together', () => {
  const sample = SAMPLES.find((each) => each.type === 'email.unsubscribed');
  expect(['topic one_click', 'topic page', 'all api']).toContain(
    `${sample?.data.scope} ${sample?.data.source}`,
  );
});

describe.each(EVENT_TYPES)('a new event of the sample of %s', (type) => {
  const sample = SAMPLES.find((each) => each.type === type);
  if (sample === undefined) throw new Error(`no sample of ${type}`);
  const event = newEvent(sample, now);

  test('has the fields, the order and the bytes that the service would send', () => {
    const bytes = envelopeBytes({
      id: event.id as EventId,
      type,
      subject: event.subject,
      createdAt: now,
      data: JSON.stringify(EVENT_DATA[type].parse(event.data)),
    });
    expect(JSON.stringify(event)).toBe(bytes.toString());
  });

  test('has an id of its own, and happened now', () => {
    expect(parseId('event', event.id)).toBe(event.id);
    expect(newEvent(sample, now).id).not.toBe(event.id);
    const times = [...JSON.stringify(event).matchAll(/"(?:\w+_at)":"([^"]+)"/g)].map(([, time]) => time);
    expect(new Set(times)).toEqual(new Set([now.toISOString()]));
  });

  test('keeps everything else of the sample', () => {
    const timeless = (value: unknown) =>
      JSON.stringify(value, (key, each: unknown) => (key.endsWith('_at') ? 'a time' : each));
    expect(timeless({ ...event, id: sample.id })).toBe(timeless(sample));
  });
});
