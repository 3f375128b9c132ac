import { describe, expect, test } from '@jest/globals';
import { readArguments, UsageError } from './arguments.ts';

const KNOWN = { figures: ['drain', 'latency', 'flood'], mechanisms: ['rest', 'batches'] };
const parse = (...args: string[]) => readArguments(args, KNOWN);

describe('without arguments', () => {
  test('everything runs, and nothing is published', () => {
    expect(parse()).toEqual({
      action: 'run',
      only: KNOWN.figures,
      rounds: null,
      cores: null,
      quick: false,
      out: '.data/bench',
      publish: false,
      profile: false,
      without: [],
    });
  });
});

describe('--only', () => {
  test('chooses figures; they run in the usual order', () => {
    expect(parse('--only', 'flood, drain')).toMatchObject({ only: ['drain', 'flood'] });
  });
  test('with a figure that does not exist names those that do', () => {
    expect(() => parse('--only', 'drian')).toThrow(
      new UsageError("there is no figure 'drian'; there are drain, latency, flood"),
    );
  });
});

describe('--without', () => {
  test('chooses mechanisms', () => {
    expect(parse('--without', 'batches,rest')).toMatchObject({ without: ['rest', 'batches'] });
  });
  test('with a mechanism that does not exist names those that do', () => {
    expect(() => parse('--without', 'drain')).toThrow(
      new UsageError("there is no mechanism 'drain'; there are rest, batches"),
    );
  });
  test('is not published', () => {
    expect(() => parse('--without', 'rest', '--publish')).toThrow(UsageError);
  });
});

describe.each(['rounds', 'cores'])('--%s', (option) => {
  test('takes a whole number', () => {
    expect(parse(`--${option}`, '7')).toMatchObject({ [option]: 7 });
  });
  test.each(['0', '-1', '1.5', 'five', '101', '1e2', ''])('refuses %p', (text) => {
    expect(() => parse(`--${option}=${text}`)).toThrow(
      new UsageError(`--${option} takes a whole number from 1 to 100, not '${text}'`),
    );
  });
});

test('an unknown option is named', () => {
  expect(() => parse('--fast')).toThrow(new UsageError("Unknown option '--fast'"));
});
test.each([[['--fast']], [['drain']], [['--only']], [['--quick=yes']]])(
  '%p is refused in one line',
  (args) => {
    expect(() => parse(...args)).toThrow(UsageError);
    expect(() => parse(...args)).toThrow(/^[^\n]+$/);
  },
);

test('--help, --list and --page-of run nothing', () => {
  expect(parse('--help')).toEqual({ action: 'help' });
  expect(parse('--list')).toEqual({ action: 'list' });
  expect(parse('--page-of', 'x.json')).toEqual({ action: 'page', of: 'x.json' });
});
