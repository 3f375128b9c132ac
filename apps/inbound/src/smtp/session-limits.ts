import { isIPv6 } from 'node:net';

/** Counts the sessions that are open, in all and by address. */
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

  /** @returns the limit that is reached; null when the session is counted, until `leave` */
  enter(address: string): 'sessions' | 'sessions_per_address' | null {
    const key = clientOf(address);
    const ofClient = this.#byAddress.get(key) ?? 0;
    if (this.#open >= this.#sessionsMax) return 'sessions';
    if (ofClient >= this.#perAddressMax) return 'sessions_per_address';
    this.#byAddress.set(key, ofClient + 1);
    this.#open += 1;
    return null;
  }

  leave(address: string): void {
    const key = clientOf(address);
    const left = (this.#byAddress.get(key) ?? 0) - 1;
    if (left > 0) this.#byAddress.set(key, left);
    else this.#byAddress.delete(key);
    this.#open -= 1;
  }
}

const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;

/** An IPv6 client has a whole /64 to call from: its network stands for it. Everything else stands for itself. */
export function clientOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: Math.max(0, IPV6_GROUPS - first.length - last.length) }, () => '0');
  return `${[...first, ...zeros, ...last].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':');
}
