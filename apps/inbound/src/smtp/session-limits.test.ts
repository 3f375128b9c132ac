import { describe, expect, test } from '@jest/globals';
import { clientOf, SessionLimits } from './session-limits.ts';

const noneCanEnd = () => false;
const oneEnds = () => true;

describe('open sessions', () => {
  test('are limited in total, and for each client by what is still free', () => {
    const limits = new SessionLimits(4, 1);
    expect(limits.enter('a', noneCanEnd)).toBeNull();
    expect(limits.enter('a', noneCanEnd)).toBeNull();
    expect(limits.enter('a', oneEnds)).toBe('sessions_per_address');
    expect(limits.enter('b', noneCanEnd)).toBeNull();
    expect(limits.enter('b', oneEnds)).toBe('sessions_per_address');
    expect(limits.enter('c', noneCanEnd)).toBeNull();
    expect(limits.open).toBe(4);
    expect(limits.enter('d', noneCanEnd)).toBe('sessions');
    expect(limits.enter('d', oneEnds)).toBeNull();
  });

  test('of a client with few replace one that waits, also when none is free', () => {
    const limits = new SessionLimits(2, 2);
    for (const client of ['a', 'b']) expect(limits.enter(client, noneCanEnd)).toBeNull();
    expect(limits.enter('a', noneCanEnd)).toBe('sessions');
    expect(limits.enter('a', oneEnds)).toBeNull();
    expect(limits.enter('a', oneEnds)).toBe('sessions_per_address');
  });

  test('stop counting when they end', () => {
    const limits = new SessionLimits(2, 1);
    expect(limits.enter('a', noneCanEnd)).toBeNull();
    expect(limits.enter('a', noneCanEnd)).toBe('sessions_per_address');
    limits.leave('a');
    expect(limits.open).toBe(0);
    expect(limits.enter('a', noneCanEnd)).toBeNull();
  });
});

test('a client is an IPv4 address or an IPv6 /64, and over LMTP a session', () => {
  const of = (remoteAddress: string, id = '1') => clientOf({ id, remoteAddress }, 'smtp');
  expect(of('2001:db8:0:1::1')).toBe(of('2001:db8:0:1:2::3', '2'));
  expect(of('2001:db8:0:1::1')).not.toBe(of('2001:db8:0:2::1'));
  expect(of('192.0.2.1')).not.toBe(of('192.0.2.2'));
  const overLmtp = ['1', '2'].map((id) => clientOf({ id, remoteAddress: '::1' }, 'lmtp'));
  expect(new Set(overLmtp).size).toBe(2);
});
