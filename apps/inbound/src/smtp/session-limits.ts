import { networkOf } from '@postrider/limits';

/**
 * Clients share the sessions, the byte budget and the worker threads. An IPv6 client owns a whole /64. Over
 * LMTP one mail server sends everything, so each session is a client.
 *
 * @returns the key of the client that has this session
 */
export function clientOf(
  { id, remoteAddress }: { readonly id: string; readonly remoteAddress: string },
  protocol: 'smtp' | 'lmtp',
): string {
  return protocol === 'lmtp' ? id : (networkOf(remoteAddress) ?? remoteAddress);
}

/** Counts open sessions, in total and by client. A client may have as many sessions as are still free. */
export class SessionLimits {
  readonly #sessionsMax: number;
  readonly #perClientMin: number;
  readonly #byClient = new Map<string, number>();
  #open = 0;

  /** @param perClientMin below this number, a client's own sessions are no reason to refuse it */
  constructor(sessionsMax: number, perClientMin: number) {
    this.#sessionsMax = sessionsMax;
    this.#perClientMin = perClientMin;
  }

  get open(): number {
    return this.#open;
  }

  /**
   * Counts the session until `leave`.
   * @param endAnother ends another open session when no session is free. It returns false when none can end.
   * @returns the limit that refuses the session; null when it is counted
   */
  enter(client: string, endAnother: () => boolean): 'sessions' | 'sessions_per_address' | null {
    const ofClient = this.#byClient.get(client) ?? 0;
    const free = this.#sessionsMax - this.#open;
    if (ofClient >= this.#perClientMin && ofClient >= free) return 'sessions_per_address';
    if (free <= 0 && !endAnother()) return 'sessions';
    this.#byClient.set(client, ofClient + 1);
    this.#open += 1;
    return null;
  }

  leave(client: string): void {
    const left = (this.#byClient.get(client) ?? 0) - 1;
    if (left > 0) this.#byClient.set(client, left);
    else this.#byClient.delete(client);
    this.#open -= 1;
  }
}
