import type { ConfigurationOf } from './configuration.ts';
import { ConfigurationError, loadConfig } from './load.ts';
import type { ProcessName } from './setting.ts';

/**
 * The configuration for a `main.ts`: a bad value stops the process with one line on stderr that names every bad
 * variable, and exit code 1.
 */
export function loadConfigOrExit<const P extends ProcessName>(processName: P): ConfigurationOf<P> {
  try {
    return loadConfig(processName);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
