import { describe, expect, test } from '@jest/globals';
import { SessionLimits } from './session-limits.ts';

const noneCanEnd = () => false;

describe('open sessions', () => {
  test('are limited in total and by client', () => {
    const limits = new SessionLimits(3, 2);
    expect(limits.enter('192.0.2.1', noneCanEnd)).toBeNull();
    expect(limits.enter('192.0.2.1', noneCanEnd)).toBeNull();
    expect(limits.enter('192.0.2.1', noneCanEnd)).toBe('sessions_per_address');
    expect(limits.enter('2001:db8::1', noneCanEnd)).toBeNull();
    expect(limits.enter('192.0.2.3', noneCanEnd)).toBe('sessions');
    expect(limits.open).toBe(3);
    const oneEnds = () => true;
    expect(limits.enter('192.0.2.1', oneEnds)).toBe('sessions_per_address');
    expect(limits.enter('192.0.2.3', oneEnds)).toBeNull();
  });

  test('stop counting when they end', () => {
    const limits = new SessionLimits(3, 1);
    expect(limits.enter('2001:db8::1', noneCanEnd)).toBeNull();
    expect(limits.enter('2001:db8::2', noneCanEnd)).toBe('sessions_per_address');
    limits.leave('2001:db8::1');
    expect(limits.open).toBe(0);
    expect(limits.enter('2001:db8::2', noneCanEnd)).toBeNull();
  });
});
