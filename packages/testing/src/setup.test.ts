import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { cleanUpAfterEach, setup } from './setup.ts';

const steps: string[] = [];

const named = (name: string) =>
  setup(
    async () => {
      steps.push(`open ${name}`);
      let reads = 0;
      return {
        name,
        get reads() {
          return (reads += 1);
        },
      };
    },
    async (opened) => steps.push(`close ${opened.name}`),
  );

describe('what is set up', () => {
  const first = named('first');
  const second = named('second');
  beforeAll(() => void steps.push(`use ${first.name} and ${second.name}`));

  test('has the properties of what was opened, in later hooks and in tests', () => {
    expect([first.name, second.name]).toEqual(['first', 'second']);
    expect([first.reads, first.reads]).toEqual([1, 2]);
  });

  describe('for one block', () => {
    named('inner');

    test('is opened with the block', () => {
      expect(steps.at(-1)).toBe('open inner');
    });
  });

  afterAll(() => void steps.push('later hook'));
});

test('everything is closed at the end of its block, the last opened first', () => {
  expect(steps).toEqual([
    'open first',
    'open second',
    'use first and second',
    'open inner',
    'close inner',
    'close second',
    'close first',
    'later hook',
  ]);
});

describe('cleanups', () => {
  const atEnd = cleanUpAfterEach();
  const cleaned: string[] = [];

  test('wait for the end of the test that adds them', () => {
    for (const name of ['first', 'second']) atEnd(() => cleaned.push(name));
    expect(cleaned).toEqual([]);
  });

  test('have run then, the newest first', () => {
    expect(cleaned).toEqual(['second', 'first']);
  });

  test('run once', () => {
    expect(cleaned).toHaveLength(2);
  });
});
