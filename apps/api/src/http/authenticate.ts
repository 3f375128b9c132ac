import type { IncomingMessage } from 'node:http';
import { bearerKey } from '@postrider/domain';
import type { ActiveKey, ApiKeyStore } from '@postrider/store';

/**
 * Returns the request's key, or null when the key is missing, malformed, unknown, revoked or expired
 * (contract 5). The store caches a key for one second. `key revoke` returns after that second.
 *
 * @throws StoreUnavailableError
 */
export async function authenticate(
  request: IncomingMessage,
  apiKeys: Pick<ApiKeyStore, 'findActive'>,
): Promise<ActiveKey | null> {
  const key = bearerKey(request.headers.authorization);
  return key === null ? null : apiKeys.findActive(key);
}
