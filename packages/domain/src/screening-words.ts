/** Results of RFC 8601 2.7, without `policy`. Not every method (SPF, DKIM, DMARC) uses each result. */
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

export interface AuthResults {
  readonly spf: AuthResult;
  readonly dkim: AuthResult;
  readonly dmarc: AuthResult;
}

/** Why a message is held. When several reasons apply, the first in this list counts. */
export const HELD_REASONS = ['virus', 'spam', 'auth_failed', 'blocked_sender'] as const;
export type HeldReason = (typeof HELD_REASONS)[number];
