import { html } from '@remix-run/html-template';
import type { Page } from '../html/layout.ts';

export interface SignInParts {
  readonly status: number;
  /** The page to show afterwards. */
  readonly next: string;
  /** Null: no key was refused. */
  readonly fault: string | null;
}

export function signInPage({ status, next, fault }: SignInParts): Page {
  const main = html`<div class="sign">
    <h1>Postrider console</h1>
    <div class="card">
      ${fault === null ? null : html`<p class="fault" id="fault" role="alert">${fault}</p>`}
      <form method="post" action="/sign-in">
        <input type="hidden" name="next" value="${next}" />
        <div>
          <label for="key">Console key</label>
          <input
            id="key"
            name="key"
            type="password"
            autocomplete="current-password"
            required
            autofocus
            ${fault === null ? null : html`aria-invalid="true" aria-describedby="fault"`}
          />
        </div>
        <button class="btn main">Sign in</button>
      </form>
      <p class="hint">
        Your key identifies you and sets what you may do. The administrator of this installation creates it
        (<code>CONSOLE_KEYS</code>).
      </p>
    </div>
  </div>`;
  return { status, title: 'Sign in', main };
}
