import type { Direction } from '@postrider/testing';
import type { ServerProxy } from '../harness/world/world.ts';

/**
 * Sets a trap for the connection that sends this text. Held on its way to the server, a statement is never run; held on its
 * way back, it was. @returns what waits until the process stands still there
 */
export function holdAt(line: ServerProxy, sees: string, holds: Direction, skip = 0): () => Promise<void> {
  const trap = line.trap({ sees, in: 'toServer', holds, skip });
  return async () => (await trap.caught()).answered();
}
