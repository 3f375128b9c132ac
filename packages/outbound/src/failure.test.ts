import { networkInterfaces } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import { describeFailure, failed, refused } from './failure.ts';

const facts = { hostname: 'hooks.example.com', inHandshake: false };

function nodeError(code: string, rest: object = {}): Error {
  return Object.assign(new Error(`raw ${code}\n    at internal`), { code, ...rest });
}

describe('the line for the owner of the endpoint', () => {
  test.each<[Error, string, string]>([
    [
      nodeError('ECONNREFUSED', { syscall: 'connect', address: '192.0.2.1', port: 443 }),
      'connect',
      'connect ECONNREFUSED 192.0.2.1:443',
    ],
    [
      nodeError('ENETUNREACH', { syscall: 'connect', address: '2606::1', port: 443 }),
      'connect',
      'connect ENETUNREACH [2606::1]:443',
    ],
    [
      nodeError('ECONNRESET', { syscall: 'read' }),
      'protocol',
      'connection closed before a complete response (ECONNRESET)',
    ],
    [
      nodeError('ETIMEDOUT', { syscall: 'read' }),
      'protocol',
      'connection closed before a complete response (ETIMEDOUT)',
    ],
    [nodeError('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'), 'tls', 'TLS: tlsv1 alert protocol version'],
    [nodeError('EPROTO', { syscall: 'write' }), 'tls', 'TLS: protocol error'],
    [
      Object.assign(new Error('error:0A000410:SSL routines:f:ssl/tls alert handshake failure:../a.c:1:'), {
        code: 'EPROTO',
      }),
      'tls',
      'TLS: ssl/tls alert handshake failure',
    ],
    [nodeError('ERR_TLS_UNHEARD_OF'), 'tls', 'TLS: unheard of'],
    [
      nodeError('ERR_UNHEARD_OF'),
      'protocol',
      'connection closed before a complete response (ERR_UNHEARD_OF)',
    ],
    [nodeError('CERT_HAS_EXPIRED'), 'tls', 'TLS: certificate has expired'],
    [nodeError('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls', 'TLS: certificate is not valid for hooks.example.com'],
    [nodeError('HPE_INVALID_CONSTANT'), 'protocol', 'malformed response'],
  ])('%s', (error, cause, line) => {
    expect(describeFailure(error, facts)).toEqual({ kind: 'failed', cause, error: line });
  });

  test('names the first real reason when several addresses were tried', () => {
    const errors = [
      nodeError('ETIMEDOUT', { syscall: 'connect', address: '192.0.2.1', port: 443 }),
      nodeError('ECONNREFUSED', { syscall: 'connect', address: '192.0.2.2', port: 443 }),
    ];
    const failure = describeFailure(Object.assign(new Error(''), { code: 'ETIMEDOUT', errors }), facts);
    expect(failure?.error).toBe('connect ECONNREFUSED 192.0.2.2:443');
  });

  test('is short and printable whatever went into it', () => {
    const line = failed('dns', `DNS: \u0000\u001b[31m\r\nhooks\u202e.example.com ${'x'.repeat(300)}`).error;
    expect(line).toMatch(/^DNS: \[31mhooks\.example\.com x+$/);
    expect(line).toHaveLength(200);
    expect(refused(`refused name ${'a.'.repeat(200)}\u0007`).error).toMatch(/^refused name [a.]{187}$/);
  });
});

test.each(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'ERR_SSL_MALLOC_FAILURE'])(
  '%s is a fault of our own, not of the endpoint',
  (code) => {
    expect(describeFailure(nodeError(code, { syscall: 'connect' }), facts)).toBeNull();
  },
);

test('a machine without a local port left is at fault, also beside an address that fails otherwise', () => {
  const noPort = nodeError('EADDRNOTAVAIL', { syscall: 'connect', address: '192.0.2.1', port: 443 });
  const noRoute = nodeError('ENETUNREACH', { syscall: 'connect', address: '2606::1', port: 443 });
  expect(describeFailure(noPort, facts)).toBeNull();
  const both = Object.assign(new Error(''), { code: 'ENETUNREACH', errors: [noRoute, noPort] });
  expect(describeFailure(both, facts)).toBeNull();
});

const hasIpv6 = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .some(({ family, internal, address }) => family === 'IPv6' && !internal && !address.startsWith('fe80:'));

(hasIpv6 ? test.skip : test)('an endpoint with IPv6 only fails on a machine without IPv6', () => {
  const error = nodeError('EADDRNOTAVAIL', { syscall: 'connect', address: '2606::1', port: 443 });
  expect(describeFailure(error, facts)).toEqual({
    kind: 'failed',
    cause: 'connect',
    error: 'connect EADDRNOTAVAIL [2606::1]:443',
  });
});

test('an error without a code is a fault of our own', () => {
  expect(describeFailure(new Error('a bug'), facts)).toBeNull();
});
