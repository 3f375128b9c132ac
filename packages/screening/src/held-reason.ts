import type { HeldReason } from '@postrider/domain';
import type { Verdicts } from './verdicts.ts';

/**
 * Returns the first reason to hold a message, in the order of {@link HeldReason}; null when the message is
 * received. It never returns `blocked_sender`: the store checks the block list of each account.
 *
 * DMARC holds a message only when it fails and the domain publishes `quarantine` or `reject`. A `temperror`
 * never holds.
 */
export function heldReason(verdicts: Verdicts): HeldReason | null {
  if (verdicts.virus) return 'virus';
  if (verdicts.spam === true) return 'spam';
  return verdicts.auth.dmarc === 'fail' && verdicts.dmarcPolicy !== 'none' ? 'auth_failed' : null;
}
