/** What a child inherits, whatever environment a test gives it: `npm test` keeps compiled code for all of its processes. */
export function forEveryProcess(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? { PATH } : { PATH, NODE_COMPILE_CACHE };
}
