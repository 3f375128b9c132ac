import { html } from '@remix-run/html-template';
import type { Page } from '../html/layout.ts';

export interface SignInParts {
  /** The path of the page to show after the sign-in. */
  readonly next: string;
  /** The user sent a form after the end of the session. */
  readonly isUnsent?: boolean;
  /** Why a key was refused. */
  readonly refused?: { readonly status: number; readonly fault: string };
}

export function signInPage({ next, isUnsent = false, refused }: SignInParts): Page {
  const { status = 200, fault = null } = refused ?? {};
  const describedBy = [isUnsent ? 'unsent' : '', fault === null ? '' : 'fault'].filter(Boolean).join(' ');
  const main = html`<div class="sign">
    <h1>Postrider console</h1>
    <div class="card">
      ${
        isUnsent
          ? html`<p class="note wait" id="unsent">
              <b>Your session has ended. The form that you sent changed nothing.</b> Sign in, and send it
              again.
            </p>`
          : null
      }
      ${fault === null ? null : html`<p class="fault" id="fault" role="alert">${fault}</p>`}
      <form method="post" action="/sign-in">
        <input type="hidden" name="next" value="${next}" />
        ${isUnsent ? html`<input type="hidden" name="form" value="unsent" />` : null}
        <div>
          <label for="key">Console key</label>
          <input
            id="key"
            name="key"
            type="password"
            autocomplete="current-password"
            required
            autofocus
            ${fault === null ? null : html`aria-invalid="true"`}
            ${describedBy === '' ? null : html`aria-describedby="${describedBy}"`}
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
