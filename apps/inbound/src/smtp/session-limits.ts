/** Counts open sessions, in total and by client. */
export class SessionLimits {
  readonly #sessionsMax: number;
  readonly #byClient = new Map<string, number>();
  #open = 0;

  constructor(sessionsMax: number) {
    this.#sessionsMax = sessionsMax;
  }

  get open(): number {
    return this.#open;
  }

  /**
   * Counts the session until `leave`. A client may hold as many sessions as are still free, and at least one.
   * @param endAnother ends an open session when there are too many. False: none can end.
   * @returns the limit that refuses the session; null when it is counted
   */
  enter(client: string, endAnother: () => boolean): 'sessions' | 'sessions_per_address' | null {
    const ofClient = this.#byClient.get(client) ?? 0;
    const free = this.#sessionsMax - this.#open;
    if (ofClient > 0 && ofClient >= free) return 'sessions_per_address';
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
