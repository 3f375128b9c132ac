import { html } from '@remix-run/html-template';
import { Refusal } from './refusal.ts';

/** Runs one task at a time. @throws Refusal (503) while another one runs */
export type SoleTask = <T>(task: () => Promise<T>) => Promise<T>;

/** A count looks at up to half a million events and holds a connection. So a process runs one at a time. */
export function createSoleTask(): SoleTask {
  let isBusy = false;
  return async (task) => {
    if (isBusy) throw busy();
    isBusy = true;
    try {
      return await task();
    } finally {
      isBusy = false;
    }
  };
}

function busy(): Refusal {
  const main = html`<div class="narrow-page sec">
    <h1>Another count runs</h1>
    <p>Nothing changed. The console counts for one user at a time. Try again in some seconds.</p>
    <p><a class="btn" href="">Try again</a></p>
  </div>`;
  return new Refusal({ status: 503, title: 'Another count runs', main });
}
