import type { KeyKind } from './api-key.ts';
import type { AccountId } from './ids.ts';

/** Whose mail is read. A live key sees all mail of its account, a test key only what was sent with test keys. */
export interface MailReader {
  readonly accountId: AccountId;
  readonly kind: KeyKind;
}
