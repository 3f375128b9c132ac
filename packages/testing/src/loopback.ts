import { networkInterfaces } from 'node:os';
import { test } from '@jest/globals';

const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);

/** `test` if the machine has IPv6, otherwise `test.skip`. */
export const testWithIpv6 = addresses.some(({ address }) => address === '::1') ? test : test.skip;

/** Linux answers on all of 127.0.0.0/8. macOS has the same netmask, and answers on 127.0.0.1 alone. */
const hasNetwork = process.platform === 'linux' && addresses.some(({ cidr }) => cidr === '127.0.0.1/8');

/** `test` if this machine has the addresses 127.0.0.2, 127.0.0.3 and so on, otherwise `test.skip`. */
export const testWithLoopbackNetwork = hasNetwork ? test : test.skip;
