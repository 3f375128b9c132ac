import { loadConfigOrExit } from '@postrider/runtime';
import type { ConfigurationOf } from '@postrider/runtime';

export type WorkerConfig = ConfigurationOf<'worker'>;

/** Checked whole; a bad value stops the process with one line that names it. */
export function workerConfig(): WorkerConfig {
  return loadConfigOrExit('worker');
}
