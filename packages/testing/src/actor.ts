/** The actor in tests that do not check the audit. */
export const ACTOR = { kind: 'cli', name: 'test' } as const;
