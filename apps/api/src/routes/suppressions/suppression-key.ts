import { parseId, plainAddress } from '@postrider/domain';
import type { SuppressionKey } from '@postrider/store';

/** The `:id` of a path, which may be an address instead. @returns null for what is neither: it reads as missing. */
export function suppressionKey(written: string): SuppressionKey | null {
  const id = parseId('suppression', written);
  if (id !== null) return { id };
  const address = plainAddress(written);
  return address === null ? null : { address };
}
