import { html } from '@remix-run/html-template';
import type { Page } from '../html/layout.ts';
import type { Part } from '../html/pieces.ts';

/** Ends a request with a page that says why. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly page: Page;
  /** The names of the fields that are wrong. The form keeps the values of the right fields. */
  readonly wrongFields: readonly string[];
  readonly #toForm: ((formPage: string) => Page) | undefined;

  /** @param toForm makes the page that leads back to a form. Absent: a form gets `page`, too. */
  constructor(
    page: Page & { readonly status: number },
    toForm?: (formPage: string) => Page,
    wrongFields: readonly string[] = [],
  ) {
    super(page.title);
    this.page = page;
    this.wrongFields = wrongFields;
    this.#toForm = toForm;
  }

  /** The page for the sender of a form. @param formPage the URL of the page with the form; null: unknown */
  pageFor(formPage: string | null): Page {
    return formPage === null ? this.page : (this.#toForm?.(formPage) ?? this.page);
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

/**
 * Refuses a wrong filter or field. Without it, a page would show or replay more than the user asked for.
 *
 * @param wrongFields the names of the wrong filters or fields
 */
export function badRequest(faults: readonly string[], wrongFields: readonly string[] = []): Refusal {
  const leadingTo = (href: string, label: string) => {
    const main = html`<div class="narrow-page sec">
      <h1>This request is malformed</h1>
      <p>Nothing changed.</p>
      <ul class="card pad dots">
        ${faults.map((fault) => html`<li>${fault}</li>`)}
      </ul>
      <p><a class="btn" href="${href}">${label}</a></p>
    </div>`;
    return { status: 400, title: 'Malformed request', main };
  };
  const toForm = (formPage: string) => leadingTo(formPage, 'Back to the page');
  return new Refusal(leadingTo('/', 'Overview'), toForm, wrongFields);
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
