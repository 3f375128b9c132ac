import { html } from '@remix-run/html-template';
import { settlesWithin } from '@postrider/limits';
import { Refusal } from '../http/refusal.ts';

/**
 * Counts the events of a recovery. @throws Refusal (503) when another count runs on
 *
 * @param again the page that counts again. Absent: the one that was asked for.
 */
export type OneCount = <T>(count: () => Promise<T>, again?: string) => Promise<T>;

/** A count that the browser cancelled, as after a double click, ends with its page of events. */
const WAITS_MS = 2_000;

/** A count looks at up to half a million events and holds a connection. So a process runs one at a time. */
export function createOneCount(waitsMs = WAITS_MS): OneCount {
  let running: Promise<unknown> | null = null;
  return async (count, again = '') => {
    const endMs = performance.now() + waitsMs;
    while (running !== null) {
      if (!(await settlesWithin(endMs - performance.now(), running))) throw busy(again);
    }
    const own = count();
    running = own;
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
