import { expect } from '@jest/globals';

/*
 * Assertions for the fuzz tests, which make some 100,000 of them. `expect` takes a stack trace for each assertion, also
 * for one that holds. So these compare first, and call `expect` for its message where the comparison fails.
 */

/** Checks two primitive values. */
export function checkEqual(actual: unknown, expected: unknown): void {
  if (actual !== expected) expect(actual).toBe(expected);
}

export function checkMatch(text: unknown, pattern: RegExp): void {
  if (typeof text !== 'string' || !pattern.test(text)) expect(text).toMatch(pattern);
}

export function checkNoMatch(text: string, pattern: RegExp): void {
  if (pattern.test(text)) expect(text).not.toMatch(pattern);
}

/** Checks that `value` is one of `allowed`. */
export function checkOneOf(allowed: readonly unknown[], value: unknown): void {
  if (!allowed.includes(value)) expect(allowed).toContain(value);
}

export function checkNoneOf(forbidden: readonly unknown[], value: unknown): void {
  if (forbidden.includes(value)) expect(forbidden).not.toContain(value);
}
