import type { HeldReason } from '@postrider/domain';
import type { Verdicts } from './verdicts.ts';

/**
 * Returns the first reason to hold a message, in the order of {@link HeldReason}; null when the message is
 * received.
 *
 * DMARC holds a message only when it fails and the domain publishes `quarantine` or `reject`. A `temperror`
 * never holds.
 *
 * @param isBlocked the sender is on the account's block list
 */
export function heldReason(verdicts: Verdicts, isBlocked: boolean): HeldReason | null {
  if (verdicts.virus) return 'virus';
  if (verdicts.spam === true) return 'spam';
  if (verdicts.auth.dmarc === 'fail' && verdicts.dmarcPolicy !== 'none') return 'auth_failed';
  return isBlocked ? 'blocked_sender' : null;
}
