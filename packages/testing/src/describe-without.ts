import { describe, test } from '@jest/globals';

/**
 * A `describe` whose program is missing. It is skipped, with the reason in its title. If the variable
 * `required` is 1, as in CI, it fails instead.
 */
export function describeWithout(title: string, required: string, reason: string, define: () => void): void {
  if (process.env[required] !== '1') describe.skip(`${title} (skipped: ${reason})`, define);
  else {
    test(`${title} (${required}=1)`, () => {
      throw new Error(reason);
    });
  }
}
