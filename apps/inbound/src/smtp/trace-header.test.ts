import { describe, expect, test } from '@jest/globals';
import { traceHeader } from './trace-header.ts';

const fields = {
  helo: 'client.example',
  remoteAddress: '192.0.2.7',
  hostname: 'mx.postrider.example',
  protocol: 'ESMTPS',
  id: 'abc.1',
  receivedAt: new Date('2026-11-03T09:05:00Z'),
};

describe('the Received field', () => {
  test('says who, by whom, how and when', () => {
    expect(traceHeader(fields)).toBe(
      'Received: from client.example ([192.0.2.7])\r\n' +
        '\tby mx.postrider.example with ESMTPS id abc.1;\r\n' +
        '\tTue, 03 Nov 2026 09:05:00 +0000\r\n',
    );
  });

  test('marks an IPv6 address', () => {
    expect(traceHeader({ ...fields, remoteAddress: '2001:db8::1' })).toContain('([IPv6:2001:db8::1])');
  });

  test.each([
    ['a\r\nBcc: x@example.com', 'a??Bcc:?x?example.com'],
    ['a) (b; "c" <d>', 'a???b???c???d?'],
    ['bücher.example', 'b?cher.example'],
    ['a\u2028b\0c', 'a?b?c'],
    ['[ipv6:2001:db8::1]', '[ipv6:2001:db8::1]'],
    ['under_score-1', 'under_score-1'],
    ['', 'unknown'],
    ['a'.repeat(5_000), 'a'.repeat(255)],
  ])('of the name %j nothing breaks it', (helo, written) => {
    const lines = traceHeader({ ...fields, helo }).split('\r\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe(`Received: from ${written} ([192.0.2.7])`);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(998);
  });
});
