import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { requestOrigin } from './request-context.ts';

function originOf(host: string | undefined, localAddress = '127.0.0.1'): string {
  const socket = Object.defineProperties(new Socket(), {
    localAddress: { value: localAddress },
    localPort: { value: 3000 },
  });
  return requestOrigin({ headers: { host }, socket });
}

test.each([
  ['api.example', 'http://api.example'],
  ['API.example:8080', 'http://API.example:8080'],
  ['127.0.0.1:3000', 'http://127.0.0.1:3000'],
  ['[::1]:3000', 'http://[::1]:3000'],
])('the host %j is believed', (host, origin) => {
  expect(originOf(host)).toBe(origin);
});

test.each([
  undefined,
  '',
  'a b',
  'a/b',
  'u@a.example',
  'a.example?x',
  'a.example#',
  'a"b',
  'a:b',
  '[::1',
  'é',
])('the host %j gives the address of the connection', (host) => {
  expect(originOf(host)).toBe('http://127.0.0.1:3000');
  expect(originOf(host, 'fe80::1%eth0')).toBe('http://[fe80::1]:3000');
});
