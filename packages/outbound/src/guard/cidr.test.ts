import { describe, expect, test } from '@jest/globals';
import { NetworkSet, parseCidr } from './cidr.ts';

describe('parseCidr', () => {
  test('reads networks of both families', () => {
    expect(parseCidr('10.0.0.0/8')).toEqual({ address: '10.0.0.0', family: 'ipv4', prefixLength: 8 });
    expect(parseCidr('0.0.0.0/0')).toEqual({ address: '0.0.0.0', family: 'ipv4', prefixLength: 0 });
    expect(parseCidr('::1/128')).toEqual({ address: '::1', family: 'ipv6', prefixLength: 128 });
    expect(parseCidr('::ffff:127.0.0.1/128')).toMatchObject({ family: 'ipv6' });
  });

  test.each([
    '',
    '/',
    '/8',
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/ 8',
    '10.0.0.0/8/8',
    '10.0.0/8',
    '010.0.0.0/8',
    '::1/129',
    'fe80::1%eth0/64',
    '[::1]/128',
    'localhost/32',
    '10.0.0.0/255.0.0.0',
  ])('%j is no CIDR', (text) => {
    expect(parseCidr(text)).toBeNull();
    expect(() => new NetworkSet([text])).toThrow(`not a CIDR: ${text}`);
  });
});

describe('NetworkSet', () => {
  test('holds exactly the addresses whose first bits agree', () => {
    const set = new NetworkSet(['10.1.2.3/9', 'fd00::/10', '192.0.2.7/32']);
    expect(set.has('10.0.0.0', 'ipv4')).toBe(true);
    expect(set.has('10.127.255.255', 'ipv4')).toBe(true);
    expect(set.has('10.128.0.0', 'ipv4')).toBe(false);
    expect(set.has('192.0.2.7', 'ipv4')).toBe(true);
    expect(set.has('192.0.2.8', 'ipv4')).toBe(false);
    expect(set.has('fd3f:ffff::', 'ipv6')).toBe(true);
    expect(set.has('fd40::', 'ipv6')).toBe(false);
  });

  test('keeps the families apart, mapped forms included', () => {
    const set = new NetworkSet(['127.0.0.0/8', '::ffff:10.0.0.0/104']);
    expect(set.has('::ffff:127.0.0.1', 'ipv6')).toBe(false);
    expect(set.has('10.0.0.1', 'ipv4')).toBe(false);
    expect(set.has('::ffff:10.0.0.1', 'ipv6')).toBe(true);
  });

  test('an empty set holds nothing', () => {
    expect(new NetworkSet([]).has('127.0.0.1', 'ipv4')).toBe(false);
  });
});
