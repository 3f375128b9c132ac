import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { fetchMetrics, parseMetrics } from './metrics.ts';

const TEXT = [
  '# HELP pass_seconds Time of a turn.',
  'pass_seconds_sum{bypass="deliveries"} 9',
  'pass_seconds_sum{pass="mail"} 1',
  'pass_seconds_sum{pass="deliveries"} 0.25',
  'pass_seconds_count{service="relay",pass="deliveries"} 7e-3',
].join('\n');
const page = parseMetrics(TEXT);

test('a sample is found by its name and labels', () => {
  expect(page.read('pass_seconds_sum{pass="deliveries"}')).toBe(0.25);
  expect(page.read('pass_seconds_sum')).toBe(9);
});

test('a sample may have more labels than those asked for', () => {
  expect(page.read('pass_seconds_count{pass="deliveries"}')).toBe(0.007);
});

test('for a missing sample, `read` throws and `find` returns null: it is never zero', () => {
  expect(() => page.read('pass_seconds')).toThrow('there is no metric pass_seconds');
  expect(page.find('pass_seconds')).toBeNull();
});

test('an answer of status 500 is an error, not a page without samples', async () => {
  const server = createServer((_, response) => response.writeHead(500).end('{"status":"internal"}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    await expect(fetchMetrics(port)).rejects.toThrow('/metrics answered 500');
  } finally {
    server.close();
  }
});
