import type { Writable } from 'node:stream';
import type { Clock } from '@postrider/domain';
import type { Environment } from '@postrider/runtime';

/** The environment and the streams of a command. */
export interface Io {
  readonly env: Environment;
  /** The data directory of `npm start`. */
  readonly dataDir: string;
  readonly clock: Clock;
  /** Gets the answer. With `--json` it is exactly one document. */
  readonly stdout: Writable;
  /** Gets notes, progress, and an error in one line. */
  readonly stderr: Writable;
}
