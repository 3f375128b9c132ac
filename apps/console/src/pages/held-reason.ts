import type { HeldReason } from '@postrider/domain';
import type { Sign } from '../html/pieces.ts';

/** Why a message is held, in words. */
export const HELD_WORDS: Readonly<Record<HeldReason, { readonly sign: Sign; readonly words: string }>> = {
  virus: { sign: 'bad', words: 'clamd found a virus' },
  spam: { sign: 'wait', words: 'screening judges it as spam' },
  auth_failed: { sign: 'wait', words: 'DMARC fails; policy: quarantine or reject' },
  blocked_sender: { sign: 'wait', words: 'on the account’s block list' },
};
