/** Variables that every child process inherits. `npm test` keeps compiled code for all its processes. */
export function forEveryProcess(): Record<string, string> {
  const { PATH = '', TEST_COMPILE_CACHE } = process.env;
  return TEST_COMPILE_CACHE === undefined ? { PATH } : { PATH, NODE_COMPILE_CACHE: TEST_COMPILE_CACHE };
}
