import { describe, expect, test } from '@jest/globals';
import { SessionLimits } from './session-limits.ts';

const noneCanEnd = () => false;
const oneEnds = () => true;

describe('open sessions', () => {
  test('are limited in total, and for each client by what is still free', () => {
    const limits = new SessionLimits(4);
    expect(limits.enter('a', noneCanEnd)).toBeNull();
    expect(limits.enter('a', noneCanEnd)).toBeNull();
    expect(limits.enter('a', oneEnds)).toBe('sessions_per_address');
    expect(limits.enter('b', noneCanEnd)).toBeNull();
    expect(limits.enter('b', oneEnds)).toBe('sessions_per_address');
    expect(limits.enter('c', noneCanEnd)).toBeNull();
    expect(limits.open).toBe(4);
    expect(limits.enter('c', oneEnds)).toBe('sessions_per_address');
    expect(limits.enter('d', noneCanEnd)).toBe('sessions');
    expect(limits.enter('d', oneEnds)).toBeNull();
  });

  test('stop counting when they end', () => {
    const limits = new SessionLimits(2);
    expect(limits.enter('a', noneCanEnd)).toBeNull();
    expect(limits.enter('a', noneCanEnd)).toBe('sessions_per_address');
    limits.leave('a');
    expect(limits.open).toBe(0);
    expect(limits.enter('a', noneCanEnd)).toBeNull();
  });
});
