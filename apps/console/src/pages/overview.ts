import { html } from '@remix-run/html-template';
import type { Page } from '../html/layout.ts';
import type { Html } from '../html/pieces.ts';

export function overviewPage(): Page {
  return {
    title: 'Overview',
    current: '/',
    hasOwnSearch: true,
    main: html`<h1 class="vh">Overview</h1>
      ${find()}`,
  };
}

function find(): Html {
  const prefixes = ['evt_', 'em_', 'msg_', 'wh_', 'dl_', 'acct_', 'key_'];
  return html`<section class="hero" aria-label="Find">
    <form role="search" action="/search">
      <label for="q">Find an event, an email or an account</label>
      <div class="find">
        <input
          id="q"
          name="q"
          type="search"
          value=""
          autocomplete="off"
          autocapitalize="none"
          spellcheck="false"
          aria-describedby="q-hint"
          autofocus
        />
        <button class="btn main">Find</button>
      </div>
      <p class="hint" id="q-hint">
        Enter any id (${prefixes.map((prefix) => html`<span class="mono">${prefix}</span> `)}and others), a
        request id, an email address, a domain, a Message-ID or an account name.
      </p>
    </form>
  </section>`;
}
