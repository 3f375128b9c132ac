import type { Environment } from './setting.ts';

/** The variables of this process. The one place that reads them; everything else gets a checked configuration. */
export function environment(): Environment {
  return process.env;
}
