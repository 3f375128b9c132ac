import type { Writable } from 'node:stream';
import type { Clock } from '@postrider/domain';
import type { Environment } from '@postrider/runtime';

/** All that a command knows of the world around it. */
export interface Io {
  readonly env: Environment;
  /** Where `npm start` keeps its state. */
  readonly dataDir: string;
  readonly clock: Clock;
  /** The answer: with `--json` exactly one document. */
  readonly stdout: Writable;
  /** Everything else: notes, progress, and an error in one line. */
  readonly stderr: Writable;
}
