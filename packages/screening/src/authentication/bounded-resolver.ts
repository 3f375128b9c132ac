import { Resolver } from 'node:dns/promises';

/**
 * Queries DNS records by name and type, like `dns.promises.Resolver.resolve`. The return type is mailauth's.
 * It leaves out MX records, which are objects.
 */
export type Resolve = (name: string, type: string) => Promise<string[] | string[][]>;

export interface BoundedResolverOptions {
  /** `address:port`. An empty list means the name servers of the machine. */
  readonly servers: readonly string[];
  /** Time limit for all queries together. */
  readonly timeoutMs: number;
}

/** No name server answered. mailauth reads `ETIMEOUT` as a temporary error. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError';
  readonly code = 'ETIMEOUT';
}

/** `ENODATA`: the name exists, without such a record. `ENOTFOUND`: the name does not exist. */
export class NoRecordError extends Error {
  override name = 'NoRecordError';
  readonly code: 'ENODATA' | 'ENOTFOUND';

  constructor(code: 'ENODATA' | 'ENOTFOUND', options?: ErrorOptions) {
    super(code, options);
    this.code = code;
  }
}

/** When a query throws this error, `spfResult` becomes the result of mailauth's SPF check. */
class TooManyQuestionsError extends Error {
  override name = 'TooManyQuestionsError';
  readonly spfResult = { error: 'permerror', text: 'too many DNS questions' };
}

/** Two tries. The second waits twice as long, so a query to one server takes at most 3 s. */
const TRY_TIMEOUT_MS = 1000;
const TRIES = 2;

/**
 * Allows no space, control character, backslash or byte beyond ASCII. c-ares ends a name at NUL and reads a
 * backslash as an escape. With either, a signature could name one domain, and we would query the key of
 * another.
 */
const NAME = /^[\x21-\x5b\x5d-\x7e]{1,253}$/;
const NO_NAME = new Set(['ENOTFOUND', 'EBADNAME', 'EBADQUERY']);

/** The DNS queries for one message. The caller must call `close`. */
export class BoundedResolver {
  readonly #resolver: Resolver;
  readonly #answers = new Map<string, ReturnType<Resolve>>();
  readonly #deadline: NodeJS.Timeout;
  #isOver = false;

  constructor({ servers, timeoutMs }: BoundedResolverOptions) {
    this.#resolver = new Resolver({ timeout: Math.min(TRY_TIMEOUT_MS, timeoutMs), tries: TRIES });
    if (servers.length > 0) this.#resolver.setServers(servers);
    this.#deadline = setTimeout(() => this.#stop(), timeoutMs);
  }

  /** Returns a resolver with its own limit of DNS queries. A query that is cached does not count. */
  limitedTo(queriesMax: number): Resolve {
    let queries = 0;
    return (name, type) => {
      const key = `${type} ${name.toLowerCase()}`;
      const cached = this.#answers.get(key);
      if (cached !== undefined) return cached;
      queries += 1;
      if (queries > queriesMax) return Promise.reject(new TooManyQuestionsError());
      const answer = this.#query(name, type);
      this.#answers.set(key, answer);
      return answer;
    };
  }

  /** Cancels the running queries. */
  close(): void {
    clearTimeout(this.#deadline);
    this.#stop();
  }

  #stop(): void {
    this.#isOver = true;
    this.#resolver.cancel();
  }

  async #query(name: string, type: string): Promise<string[] | string[][]> {
    if (!NAME.test(name)) throw new NoRecordError('ENOTFOUND');
    if (this.#isOver) throw new NoAnswerError('the time limit is over');
    try {
      return (await this.#resolver.resolve(name, type)) as string[][];
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === 'ENODATA') throw new NoRecordError(code, { cause: error });
      if (NO_NAME.has(code)) throw new NoRecordError('ENOTFOUND', { cause: error });
      throw new NoAnswerError(code, { cause: error });
    }
  }
}
