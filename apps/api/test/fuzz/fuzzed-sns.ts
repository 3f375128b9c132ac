import { createTestSns } from '../sns.ts';

/** Whom the API under fuzz believes, known before it starts: its messages are among the valid bodies. */
export const FUZZED_SNS = await createTestSns();
