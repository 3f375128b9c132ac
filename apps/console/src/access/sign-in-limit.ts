import { networkOf } from '@postrider/limits';

const WRONG_MAX = 5;
const WAIT_MS = 60_000;
/** Addresses in memory. A key has 256 random bits: the limit spares the log, not the keys. */
const ADDRESSES_MAX = 10_000;

/**
 * Limits wrong keys: after five from one address, further ones are not logged for a minute. A right key is
 * not asked to wait.
 */
export class SignInLimit {
  readonly #nowMs: () => number;
  readonly #wrong = new Map<string, { readonly keys: number; readonly lastMs: number }>();

  /** @param nowMs monotonic clock, in milliseconds. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @returns the seconds for which wrong keys of this address are too many; 0 when they are not. */
  waitSeconds(address: string): number {
    const { keys, lastMs } = this.#wrong.get(clientOf(address)) ?? { keys: 0, lastMs: 0 };
    if (keys < WRONG_MAX) return 0;
    return Math.max(0, Math.ceil((lastMs + WAIT_MS - this.#nowMs()) / 1000));
  }

  addWrong(address: string): void {
    const nowMs = this.#nowMs();
    const client = clientOf(address);
    const before = this.#wrong.get(client);
    const keys = before === undefined || before.lastMs + WAIT_MS <= nowMs ? 0 : before.keys;
    this.#wrong.delete(client);
    this.#wrong.set(client, { keys: keys + 1, lastMs: nowMs });
    for (const oldest of this.#wrong.keys()) {
      if (this.#wrong.size <= ADDRESSES_MAX) break;
      this.#wrong.delete(oldest);
    }
  }

  forget(address: string): void {
    this.#wrong.delete(clientOf(address));
  }
}

function clientOf(address: string): string {
  return networkOf(address) ?? 'unknown';
}
