import type { KeyKind } from './api-key.ts';
import type { AccountId } from './ids.ts';

/**
 * The key that reads mail. A live key sees all mail of its account, a test key only the mail of test keys.
 */
export interface MailReader {
  readonly accountId: AccountId;
  readonly kind: KeyKind;
}
