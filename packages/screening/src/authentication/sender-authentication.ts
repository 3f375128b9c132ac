import { ThreadPool, type ThreadPoolOptions } from '@postrider/sandboxed-threads';
import type { Envelope, SenderVerdict } from '../verdicts.ts';
import type { AuthenticationOptions } from './authenticate-sender.ts';

export interface SenderAuthenticationOptions {
  readonly authentication: AuthenticationOptions;
  /**
   * `script` is the bundle of `authenticate-thread.ts`: `dist/authenticate-thread.js`. A thread mostly waits
   * for name servers, so a large number costs little. The time limit of the pool must exceed that of the name
   * servers.
   */
  readonly pool: ThreadPoolOptions;
}

/** The input of a worker thread. */
export interface AuthenticationJob {
  readonly raw: Uint8Array;
  readonly envelope: Envelope;
  readonly options: AuthenticationOptions;
}

/** The verdict on a message that ended two threads. It is bad, so that a sender gains nothing by that. */
const UNREADABLE: SenderVerdict = {
  auth: { spf: 'temperror', dkim: 'temperror', dmarc: 'fail' },
  dmarcPolicy: 'quarantine',
  isAuthorUnavailable: false,
};

/** Runs `authenticateSender` in worker threads, so that a hostile message harms no other message. */
export class SenderAuthentication {
  readonly #options: AuthenticationOptions;
  readonly #pool: ThreadPool<AuthenticationJob, SenderVerdict>;

  /** @throws Error when the script does not exist: we would authenticate no sender */
  constructor({ authentication, pool }: SenderAuthenticationOptions) {
    this.#options = authentication;
    this.#pool = new ThreadPool(pool);
  }

  /**
   * A message that ends two worker threads fails DMARC, with the policy `quarantine`.
   * @throws Error after `close`, or when no thread starts: the sender must send the message again
   */
  async authenticate(raw: Buffer, envelope: Envelope): Promise<SenderVerdict> {
    const verdict = await this.#pool.run(envelope.client, () => {
      const bytes = new Uint8Array(raw);
      return { value: { raw: bytes, envelope, options: this.#options }, transferList: [bytes.buffer] };
    });
    return verdict ?? UNREADABLE;
  }

  /** Ends the worker threads. Each unfinished call of `authenticate` rejects. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}
