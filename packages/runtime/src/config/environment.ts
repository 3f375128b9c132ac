import type { Environment } from './setting.ts';

/** The environment variables of this process. All other code uses a checked configuration. */
export function environment(): Environment {
  return process.env;
}
