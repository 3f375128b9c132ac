import { loadConfigOrExit } from '@postrider/runtime';
import type { ConfigurationOf } from '@postrider/runtime';

export type RelayConfig = ConfigurationOf<'relay'>;

/** Checked whole; a bad value stops the process with one line that names it. */
export function relayConfig(): RelayConfig {
  return loadConfigOrExit('relay');
}
