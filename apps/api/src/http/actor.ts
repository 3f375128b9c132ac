import type { Actor, ApiKey } from '@postrider/store';

/** Who acts in a request, as the audit names it. */
export function actorOf(key: Pick<ApiKey, 'id'>): Actor {
  return { kind: 'key', name: key.id };
}
