import type { Actor } from '../src/audit/audit.ts';

/** Acts in tests that are about something else. */
export const ACTOR: Actor = { kind: 'cli', name: 'test' };
