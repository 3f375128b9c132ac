import { expect, test } from '@jest/globals';
import { sampleOf } from './metrics.ts';

const PAGE = [
  '# HELP pass_seconds Time of a turn.',
  'pass_seconds_sum{pass="mail"} 1',
  'pass_seconds_sum{pass="deliveries"} 0.25',
  'pass_seconds_count{service="relay",pass="deliveries"} 7e-3',
].join('\n');

test('a sample is found by its name and labels', () => {
  expect(sampleOf(PAGE, 'pass_seconds_sum{pass="deliveries"}')).toBe(0.25);
  expect(sampleOf(PAGE, 'pass_seconds_sum')).toBe(1);
});

test('a sample may have more labels than those asked for', () => {
  expect(sampleOf(PAGE, 'pass_seconds_count{pass="deliveries"}')).toBe(0.007);
});

test('one that is not there is an error, never zero', () => {
  expect(() => sampleOf(PAGE, 'pass_seconds')).toThrow('there is no metric pass_seconds');
});
