import type { Actor, ApiKey } from '@postrider/store';

/** The actor of a request, as the audit names it. */
export function actorOf(key: Pick<ApiKey, 'id'>): Actor {
  return { kind: 'key', name: key.id };
}
