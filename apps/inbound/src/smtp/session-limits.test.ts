import { describe, expect, test } from '@jest/globals';
import { clientOf, SessionLimits } from './session-limits.ts';

describe('a client', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['1:2:3::4:5', '1:2:3:0::/64'],
    ['', ''],
  ])('at %j is %j', (address, client) => {
    expect(clientOf(address)).toBe(client);
  });
});

describe('open sessions', () => {
  test('are bounded in all, and by client', () => {
    const limits = new SessionLimits(3, 2);
    expect(limits.enter('192.0.2.1')).toBeNull();
    expect(limits.enter('192.0.2.1')).toBeNull();
    expect(limits.enter('192.0.2.1')).toBe('sessions_per_address');
    expect(limits.enter('2001:db8::1')).toBeNull();
    expect(limits.enter('192.0.2.3')).toBe('sessions');
    expect(limits.open).toBe(3);
  });

  test('make room when they end', () => {
    const limits = new SessionLimits(3, 1);
    expect(limits.enter('2001:db8::1')).toBeNull();
    expect(limits.enter('2001:db8::2')).toBe('sessions_per_address');
    limits.leave('2001:db8::1');
    expect(limits.open).toBe(0);
    expect(limits.enter('2001:db8::2')).toBeNull();
  });
});
