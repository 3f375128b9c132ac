import { html } from '@remix-run/html-template';
import { settlesWithin } from '@postrider/limits';
import { Refusal } from '../http/refusal.ts';

export interface CountOptions {
  /** The page that counts again. Default: the requested page. */
  readonly again?: string;
  /** False: no client waits for the result, so the count ends soon. Default: it is wanted. */
  readonly isWanted?: () => boolean;
}

/** Counts the events of a recovery. @throws Refusal (503) when another count runs on */
export type OneCount = <T>(count: () => Promise<T>, options?: CountOptions) => Promise<T>;

/**
 * After a double click, the browser cancels the first count. That count ends after the events that it is
 * reading, and the second count waits for its end. A count never waits for one that a client wants: a waiting
 * page holds one of few connections.
 */
const WAIT_MAX_MS = 2_000;

/** A count looks at up to half a million events and holds a connection. So a process runs one at a time. */
export function createOneCount(waitMaxMs = WAIT_MAX_MS): OneCount {
  let running: { readonly ended: Promise<unknown>; readonly isWanted: () => boolean } | null = null;
  return async (count, { again = '', isWanted = () => true } = {}) => {
    const endMs = performance.now() + waitMaxMs;
    while (running !== null) {
      const { ended, isWanted: isOtherWanted } = running;
      if (isOtherWanted() || !(await settlesWithin(endMs - performance.now(), ended))) throw busy(again);
    }
    const own = count();
    running = { ended: own, isWanted };
    try {
      return await own;
    } finally {
      running = null;
    }
  };
}

function busy(again: string): Refusal {
  const main = html`<div class="narrow-page sec">
    <h1>Another count runs</h1>
    <p>Nothing changed. The console counts for one user at a time. Try again in some seconds.</p>
    <p><a class="btn" href="${again}">Try again</a></p>
  </div>`;
  return new Refusal({ status: 503, title: 'Another count runs', main });
}
