import type { Direction } from '@postrider/testing';
import type { ServerProxy } from '../harness/world/world.ts';

/**
 * Sets a trap for the connection that sends this text, such as the name of a statement. `toServer` holds the
 * statement, which then never runs. `toClient` holds the answer, so the statement has run.
 *
 * @returns a function that waits until the process stands still there
 */
export function holdAt(line: ServerProxy, sees: string, holds: Direction, skip = 0): () => Promise<void> {
  const trap = line.trap({ sees, in: 'toServer', holds, skip });
  return async () => (await trap.caught()).answered();
}
