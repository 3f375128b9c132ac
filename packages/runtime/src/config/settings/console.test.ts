import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, loadConfig } from '../load.ts';

const load = (keys: string) =>
  loadConfig('console', { DATABASE_URL: 'postgres://db/postrider', CONSOLE_KEYS: keys });

function problemsOf(keys: string): readonly string[] {
  try {
    load(keys);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}

describe('keys of the console', () => {
  const digest = 'ab'.repeat(32);

  test('each has a name, a role and a digest', () => {
    const { consoleKeys } = load(`ada:operator:${digest}, ben.k:reader:${digest}`);
    expect(consoleKeys).toEqual([
      { name: 'ada', role: 'operator', digest: Buffer.from(digest, 'hex') },
      { name: 'ben.k', role: 'reader', digest: Buffer.from(digest, 'hex') },
    ]);
  });

  test.each([
    `ada:operator:${digest.slice(2)}`,
    `ada:admin:${digest}`,
    `:reader:${digest}`,
    `ada:reader:${digest.toUpperCase()}`,
    `ada:reader:${digest},`,
    `ada:reader:${digest},ada:operator:${digest}`,
  ])('%s is refused, and not repeated', (keys) => {
    const problems = problemsOf(keys);
    expect(problems).toEqual([expect.stringMatching(/^CONSOLE_KEYS must /)]);
    expect(problems.join()).not.toContain(digest.slice(0, 8));
  });

  test('without an address of its own, the console listens on loopback alone', () => {
    expect(load(`ada:operator:${digest}`).consoleHost).toBe('127.0.0.1');
  });

  test('without them there is no console', () => {
    expect(problemsOf('')).toEqual(['CONSOLE_KEYS is required']);
  });
});
