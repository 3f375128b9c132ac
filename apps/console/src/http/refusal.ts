import { html } from '@remix-run/html-template';
import type { Page } from '../html/layout.ts';
import type { Part } from '../html/pieces.ts';

/** Ends a request with a page that says why. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly page: Page;

  constructor(page: Page & { readonly status: number }) {
    super(page.title);
    this.page = page;
  }
}

export function notFound(...sentences: readonly Part[]): Refusal {
  const main = html`<div class="narrow-page sec">
    <h1>Not found</h1>
    ${sentences.map((sentence) => html`<p>${sentence}</p>`)}
    <p><a class="btn" href="/">Overview</a></p>
  </div>`;
  return new Refusal({ status: 404, title: 'Not found', main });
}

/** A wrong filter is refused: left out, it would show or replay more than the user asked for. */
export function badRequest(faults: readonly string[]): Refusal {
  const main = html`<div class="narrow-page sec">
    <h1>This request is malformed</h1>
    <p>Nothing changed.</p>
    <ul class="card pad dots">
      ${faults.map((fault) => html`<li>${fault}</li>`)}
    </ul>
    <p><a class="btn" href="/">Overview</a></p>
  </div>`;
  return new Refusal({ status: 400, title: 'Malformed request', main });
}

export function forbidden(title: string, text: Part, requestId: string, back: string): Refusal {
  const main = html`<div class="narrow-page sec">
    <h1>${title}</h1>
    <p>Nothing changed. ${text}</p>
    <p><a class="btn" href="${back}">Back</a></p>
    <p class="small soft">
      403, <code>request_id</code> <code class="id whole" data-copy="request id">${requestId}</code>
    </p>
  </div>`;
  return new Refusal({ status: 403, title, main });
}
