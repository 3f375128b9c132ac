import { networkOf } from '@postrider/limits';

/**
 * Counts open sessions, in total and by address. An IPv6 client owns a whole /64, so its network is the key.
 */
export class SessionLimits {
  readonly #sessionsMax: number;
  readonly #perAddressMax: number;
  readonly #byAddress = new Map<string, number>();
  #open = 0;

  constructor(sessionsMax: number, perAddressMax: number) {
    this.#sessionsMax = sessionsMax;
    this.#perAddressMax = perAddressMax;
  }

  get open(): number {
    return this.#open;
  }

  /**
   * Counts the session until `leave`.
   * @param endAnother ends an open session when there are too many. False: none can end.
   * @returns the limit that refuses the session; null when it is counted
   */
  enter(address: string, endAnother: () => boolean): 'sessions' | 'sessions_per_address' | null {
    const key = networkOf(address) ?? address;
    const ofClient = this.#byAddress.get(key) ?? 0;
    if (ofClient >= this.#perAddressMax) return 'sessions_per_address';
    if (this.#open >= this.#sessionsMax && !endAnother()) return 'sessions';
    this.#byAddress.set(key, ofClient + 1);
    this.#open += 1;
    return null;
  }

  leave(address: string): void {
    const key = networkOf(address) ?? address;
    const left = (this.#byAddress.get(key) ?? 0) - 1;
    if (left > 0) this.#byAddress.set(key, left);
    else this.#byAddress.delete(key);
    this.#open -= 1;
  }
}
