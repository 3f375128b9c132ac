import { Resolver } from 'node:dns/promises';
import { statSync } from 'node:fs';

export interface CurrentResolverOptions {
  /** Name servers as `address` or `address:port`. Default: the machine's. */
  servers?: readonly string[] | undefined;
  /** Time limit of a try, in milliseconds. */
  timeout: number;
  tries: number;
  /** Monotonic time in milliseconds. */
  nowMs: () => number;
  /** The file that names the machine's name servers. */
  file?: string | undefined;
  /** For tests: creates a resolver from the file. Default: c-ares reads the file. */
  create?: ((file: string) => Resolver) | undefined;
}

const SYSTEM_FILE = '/etc/resolv.conf';
const CHECKED_EVERY_MS = 5_000;

/**
 * Asks the machine's current name servers. c-ares reads `/etc/resolv.conf` only once, so a process would ask
 * the old servers for ever. This creates a new resolver when the file has changed, as glibc and Go do.
 */
export class CurrentResolver {
  readonly #options: CurrentResolverOptions;
  readonly #file: string;
  #resolver: Resolver;
  #version: string;
  #checkAtMs: number;

  constructor(options: CurrentResolverOptions) {
    this.#options = options;
    this.#file = options.file ?? SYSTEM_FILE;
    this.#checkAtMs = options.nowMs() + CHECKED_EVERY_MS;
    this.#version = versionOf(this.#file);
    this.#resolver = this.#create();
  }

  /** The resolver for a new query. A running query keeps the resolver that it started with. */
  get(): Resolver {
    const nowMs = this.#options.nowMs();
    if (this.#options.servers !== undefined || nowMs < this.#checkAtMs) return this.#resolver;
    this.#checkAtMs = nowMs + CHECKED_EVERY_MS;
    try {
      const version = versionOf(this.#file);
      if (version !== this.#version) this.#resolver = this.#create();
      this.#version = version;
    } catch {
      // The file cannot be read. The next check reads it again.
    }
    return this.#resolver;
  }

  /** Cancels queries in flight of the current resolver. */
  cancel(): void {
    this.#resolver.cancel();
  }

  #create(): Resolver {
    const { servers, timeout, tries, create } = this.#options;
    if (create !== undefined) return create(this.#file);
    const resolver = new Resolver({ timeout, tries });
    if (servers !== undefined) resolver.setServers(servers);
    return resolver;
  }
}

/** Changes with the file, also when another file takes its place. Empty without a file. */
function versionOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? '' : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}
