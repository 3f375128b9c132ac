import { networkOf } from '@postrider/limits';

const WRONG_MAX = 5;
const WAIT_MS = 60_000;
/** Maximum number of networks in memory. */
const NETWORKS_MAX = 10_000;

/**
 * Protects the log: after five wrong keys from one network, it gets no lines about wrong keys from there for
 * a minute. Keys need no protection, because they have 256 random bits. A right key never waits.
 */
export class SignInLimit {
  readonly #nowMs: () => number;
  readonly #wrong = new Map<string, { readonly keys: number; readonly lastMs: number }>();

  /** @param nowMs monotonic clock, in milliseconds. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @returns the seconds until a wrong key of this address may be logged again; 0 when it may be now. */
  waitSeconds(address: string): number {
    const { keys, lastMs } = this.#wrong.get(clientNetwork(address)) ?? { keys: 0, lastMs: 0 };
    if (keys < WRONG_MAX) return 0;
    return Math.max(0, Math.ceil((lastMs + WAIT_MS - this.#nowMs()) / 1000));
  }

  addWrong(address: string): void {
    const nowMs = this.#nowMs();
    const network = clientNetwork(address);
    const before = this.#wrong.get(network);
    const keys = before === undefined || before.lastMs + WAIT_MS <= nowMs ? 0 : before.keys;
    this.#wrong.delete(network); // so that the map has the latest last
    this.#wrong.set(network, { keys: keys + 1, lastMs: nowMs });
    for (const oldest of this.#wrong.keys()) {
      if (this.#wrong.size <= NETWORKS_MAX) break;
      this.#wrong.delete(oldest);
    }
  }

  forget(address: string): void {
    this.#wrong.delete(clientNetwork(address));
  }
}

function clientNetwork(address: string): string {
  return networkOf(address) ?? 'unknown';
}
