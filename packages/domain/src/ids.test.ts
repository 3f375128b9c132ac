import { describe, expect, test } from '@jest/globals';
import type { Clock } from './clock.ts';
import { newId, parseId } from './ids.ts';
import type { Noun } from './ids.ts';

const at = (text: string): Clock => ({ now: () => new Date(text) });
const clock = at('2026-11-20T10:15:30.000Z');

const PREFIX_BY_NOUN: Record<Noun, string> = {
  account: 'acct',
  apiKey: 'key',
  webhook: 'wh',
  event: 'evt',
  deadLetter: 'dl',
  recovery: 'rec',
  email: 'em',
  message: 'msg',
  domain: 'dom',
  topic: 'top',
  suppression: 'sup',
  inbox: 'ibx',
  thread: 'thr',
  routingRule: 'rt',
  blockedSender: 'bs',
  attachment: 'att',
};
const NOUNS = Object.entries(PREFIX_BY_NOUN) as [Noun, string][];

describe('a public id', () => {
  test.each(NOUNS)('of a %s begins with %s_, and is read back', (noun, prefix) => {
    const id = newId(noun, clock);
    expect(id).toMatch(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`));
    expect(parseId(noun, id)).toBe(id);
  });

  test.each(NOUNS)('of a %s is no id of another noun', (noun) => {
    const others = NOUNS.filter(([other]) => other !== noun);
    expect(others.map(([other]) => parseId(other, newId(noun, clock)))).toEqual(others.map(() => null));
  });

  test('sorts by the time it was made', () => {
    const times = [
      '1999-01-01T00:00:00.000Z',
      '2026-11-20T10:15:30.000Z',
      '2026-11-20T10:15:30.001Z',
      '2150-01-01T00:00:00.000Z',
    ];
    const ids = times.map((time) => newId('event', at(time)));
    expect([...ids].sort()).toEqual(ids);
  });

  test('is not made twice in one millisecond', () => {
    expect(new Set(Array.from({ length: 1000 }, () => newId('event', clock))).size).toBe(1000);
  });

  test('has every character of its alphabet in each of its sixteen random places', () => {
    const places = Array.from({ length: 16 }, () => new Set<string>());
    for (let n = 0; n < 2000; n += 1) {
      const random = newId('event', clock).slice(-16);
      places.forEach((seen, place) => seen.add(random.charAt(place)));
    }
    expect(places.map((seen) => seen.size)).toEqual(places.map(() => 32));
  });

  test.each([
    '',
    'wh_',
    'wh_01jd000000000000000000000',
    'wh_01jd00000000000000000000012',
    'wh_01JD0000000000000000000001',
    'wh_81jd0000000000000000000001',
    'wh_01jd000000000000000000000u',
    'WH_01jd0000000000000000000001',
    ' wh_01jd0000000000000000000001',
    'wh_01jd0000000000000000000001\n',
    "wh_01jd000000000000000000000'",
    'dead-letters',
  ])('is never %j', (text) => {
    expect(parseId('webhook', text)).toBeNull();
  });
});
