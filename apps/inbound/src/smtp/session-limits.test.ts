import { describe, expect, test } from '@jest/globals';
import { SessionLimits } from './session-limits.ts';

const none = () => false;

describe('open sessions', () => {
  test('are limited in total and by client', () => {
    const limits = new SessionLimits(3, 2);
    expect(limits.enter('192.0.2.1', none)).toBeNull();
    expect(limits.enter('192.0.2.1', none)).toBeNull();
    expect(limits.enter('192.0.2.1', none)).toBe('sessions_per_address');
    expect(limits.enter('2001:db8::1', none)).toBeNull();
    expect(limits.enter('192.0.2.3', none)).toBe('sessions');
    expect(limits.open).toBe(3);
    const other = () => true;
    expect(limits.enter('192.0.2.1', other)).toBe('sessions_per_address');
    expect(limits.enter('192.0.2.3', other)).toBeNull();
  });

  test('stop counting when they end', () => {
    const limits = new SessionLimits(3, 1);
    expect(limits.enter('2001:db8::1', none)).toBeNull();
    expect(limits.enter('2001:db8::2', none)).toBe('sessions_per_address');
    limits.leave('2001:db8::1');
    expect(limits.open).toBe(0);
    expect(limits.enter('2001:db8::2', none)).toBeNull();
  });
});
