import { html } from '@remix-run/html-template';
import { settlesWithin } from '@postrider/limits';
import { Refusal } from '../http/refusal.ts';

export interface CountOptions {
  /** The page that counts again. Default: the one that was asked for. */
  readonly again?: string;
  /** False: no client waits for the result, so the count ends soon. Default: it is wanted. */
  readonly isWanted?: () => boolean;
}

/** Counts the events of a recovery. @throws Refusal (503) when another count runs on */
export type OneCount = <T>(count: () => Promise<T>, options?: CountOptions) => Promise<T>;

/**
 * A double click makes the browser cancel its first count. That count ends with its page of events, and the
 * next one waits for it. It waits for no other, because a waiting page holds one of few connections.
 */
const WAITS_MS = 2_000;

/** A count looks at up to half a million events and holds a connection. So a process runs one at a time. */
export function createOneCount(waitsMs = WAITS_MS): OneCount {
  let running: { readonly ended: Promise<unknown>; readonly isWanted: () => boolean } | null = null;
  return async (count, { again = '', isWanted = () => true } = {}) => {
    const endMs = performance.now() + waitsMs;
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
