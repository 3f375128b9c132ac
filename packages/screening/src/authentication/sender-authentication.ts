import { createThreadPool, type ThreadPoolOptions } from '@postrider/sandboxed-threads';
import type { Envelope, SenderVerdict } from '../verdicts.ts';
import type { AuthenticationOptions } from './authenticate-sender.ts';

export interface SenderAuthentication {
  /**
   * A message that costs two threads gives `temperror`, which never holds.
   * @throws Error when this is closed: the message is to come again
   */
  authenticate(raw: Buffer, envelope: Envelope): Promise<SenderVerdict>;
  /** Ends the threads. Messages under way, and those that wait, reject. */
  close(): Promise<void>;
}

export interface SenderAuthenticationOptions {
  readonly authentication: AuthenticationOptions;
  /**
   * `script` is the bundle of `authenticate-thread.ts`: `dist/authenticate-thread.js`. A thread waits for name servers with its
   * message: more of them cost little. Its time limit is longer than that of the name servers.
   */
  readonly pool: ThreadPoolOptions;
}

/** What a thread is given. */
export interface AuthenticationJob {
  readonly raw: Uint8Array;
  readonly envelope: Envelope;
  readonly options: AuthenticationOptions;
}

const UNKNOWN: SenderVerdict = {
  auth: { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' },
  dmarcPolicy: 'none',
};

/**
 * `authenticateSender` in threads, so that one hostile message costs at most itself.
 *
 * @throws Error when there is no such script: no sender would be authenticated
 */
export function createSenderAuthentication({
  authentication,
  pool,
}: SenderAuthenticationOptions): SenderAuthentication {
  const threads = createThreadPool<AuthenticationJob, SenderVerdict>(pool);
  return {
    async authenticate(raw, envelope) {
      const verdict = await threads.run(() => {
        const bytes = new Uint8Array(raw);
        return { value: { raw: bytes, envelope, options: authentication }, transfer: [bytes.buffer] };
      });
      return verdict ?? UNKNOWN;
    },
    close: () => threads.close(),
  };
}
