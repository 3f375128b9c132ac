import { Resolver } from 'node:dns/promises';

/** Asks for the records of one type, as `dns.promises.Resolver.resolve` gives them. */
export type Resolve = (name: string, type: string) => Promise<unknown[]>;

export interface BoundedResolver {
  /** A resolver that asks at most so many questions. What was asked before by any of them is free. */
  limitedTo(questionsMax: number): Resolve;
  /** Gives up the questions under way. */
  close(): void;
}

export interface BoundedResolverOptions {
  /** `address:port`; empty: the machine's own. */
  readonly servers: readonly string[];
  /** Time limit of all questions together. */
  readonly timeoutMs: number;
}

/** No name server answered. `ETIMEOUT` is the code that mailauth's SPF takes for a temporary error. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError';
  readonly code = 'ETIMEOUT';
}

/** The name servers say that there is no such record. `ENODATA` is the code that mailauth's SPF counts as a void lookup. */
export class NoRecordError extends Error {
  override name = 'NoRecordError';
  readonly code = 'ENODATA';
}

/** mailauth's SPF reads the result from the error. */
class TooManyQuestionsError extends Error {
  override name = 'TooManyQuestionsError';
  readonly spfResult = { error: 'permerror', text: 'too many DNS questions' };
}

/** Two tries, the second waits twice as long: one question to one server takes at most 3 s. */
const TRY_TIMEOUT_MS = 1000;
const TRIES = 2;

/**
 * No space, no control character, no byte beyond ASCII, and no backslash. c-ares ends a name at a NUL and
 * reads a backslash as an escape: with either, a signature could name one domain and have another asked for
 * its key.
 */
const NAME = /^[\x21-\x5b\x5d-\x7e]{1,253}$/;
const NO_RECORD = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'EBADQUERY']);

/** The DNS questions of one message. {@link BoundedResolver.close} must be called. */
export function createBoundedResolver({ servers, timeoutMs }: BoundedResolverOptions): BoundedResolver {
  const resolver = new Resolver({ timeout: Math.min(TRY_TIMEOUT_MS, timeoutMs), tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  const answers = new Map<string, Promise<unknown[]>>();
  let isOver = false;
  const stop = () => {
    isOver = true;
    resolver.cancel();
  };
  const deadline = setTimeout(stop, timeoutMs);

  async function ask(name: string, type: string): Promise<unknown[]> {
    if (!NAME.test(name)) throw new NoRecordError('not a name');
    if (isOver) throw new NoAnswerError('the time limit is over');
    try {
      return (await resolver.resolve(name, type)) as unknown[];
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (NO_RECORD.has(code)) throw new NoRecordError(code, { cause: error });
      throw new NoAnswerError(code, { cause: error });
    }
  }

  return {
    limitedTo(questionsMax) {
      let questions = 0;
      return (name, type) => {
        const key = `${type} ${name.toLowerCase()}`;
        const known = answers.get(key);
        if (known !== undefined) return known;
        questions += 1;
        if (questions > questionsMax) return Promise.reject(new TooManyQuestionsError());
        const answer = ask(name, type);
        answers.set(key, answer);
        return answer;
      };
    },
    close() {
      clearTimeout(deadline);
      stop();
    },
  };
}
