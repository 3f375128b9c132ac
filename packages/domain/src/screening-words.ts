/** RFC 8601 2.7; SPF, DKIM and DMARC do not all have each of them. */
export const AUTH_RESULTS = [
  'pass',
  'fail',
  'softfail',
  'neutral',
  'none',
  'temperror',
  'permerror',
] as const;
export type AuthResult = (typeof AUTH_RESULTS)[number];

/** Why a message is held; of several reasons the first of this list. */
export const HELD_REASONS = ['virus', 'spam', 'auth_failed', 'blocked_sender'] as const;
export type HeldReason = (typeof HELD_REASONS)[number];
