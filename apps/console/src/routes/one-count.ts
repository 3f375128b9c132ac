import { html } from '@remix-run/html-template';
import { Refusal } from '../http/refusal.ts';

/**
 * Counts the events of a recovery. @throws Refusal (503) while another count runs
 *
 * @param again the page that counts again. Absent: the one that was asked for.
 */
export type OneCount = <T>(count: () => Promise<T>, again?: string) => Promise<T>;

/** A count looks at up to half a million events and holds a connection. So a process runs one at a time. */
export function createOneCount(): OneCount {
  let isBusy = false;
  return async (count, again = '') => {
    if (isBusy) throw busy(again);
    isBusy = true;
    try {
      return await count();
    } finally {
      isBusy = false;
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
