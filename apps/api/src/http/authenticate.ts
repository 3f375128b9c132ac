import type { IncomingMessage } from 'node:http';
import { bearerKey } from '@postrider/domain';
import type { ApiKey, ApiKeyStore } from '@postrider/store';

/**
 * The key that a request was made with; null when it is missing, malformed, unknown or revoked (contract 5).
 * A key that was found is used again for a second; `key revoke` returns when that second is over.
 *
 * @throws StoreUnavailableError
 */
export async function authenticate(
  request: IncomingMessage,
  apiKeys: Pick<ApiKeyStore, 'findActive'>,
): Promise<ApiKey | null> {
  const key = bearerKey(request.headers.authorization);
  return key === null ? null : apiKeys.findActive(key);
}
