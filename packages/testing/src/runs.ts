/** `npm run test:long` sets this to 1. */
const LONG_KEY = 'TEST_LONG';

/**
 * The size of a property, fuzz or fault test: runs, events or milliseconds of its time limit.
 * @returns `long` under TEST_LONG=1, otherwise `usual`
 */
export function runs({ usual, long }: { readonly usual: number; readonly long: number }): number {
  return process.env[LONG_KEY] === '1' ? long : usual;
}
