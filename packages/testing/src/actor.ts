/** Acts in tests that are about something else than the audit. */
export const ACTOR = { kind: 'cli', name: 'test' } as const;
