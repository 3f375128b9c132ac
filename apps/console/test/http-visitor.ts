import { expect } from '@jest/globals';

/** A browser without a screen: it keeps the cookie, and sends forms as a page of the console would. */
export class HttpVisitor {
  readonly #url: string;
  #cookie: string | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  get cookie(): string {
    return this.#cookie ?? '';
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#send(path, { headers });
  }

  /** Returns the text of a page, and expects that it is shown. */
  async show(path: string): Promise<string> {
    const { status, text } = await this.get(path);
    expect({ path, status }).toEqual({ path, status: 200 });
    return text;
  }

  /** @param headers replace those of an own form */
  async post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = { origin: this.#url },
  ): Promise<Answer> {
    return this.#send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  }

  async signIn(key: string): Promise<this> {
    await this.post('/sign-in', { key });
    return this;
  }

  async #send(path: string, init: Sent): Promise<Answer> {
    const cookie = this.#cookie === null ? {} : { cookie: this.#cookie };
    const headers = { ...init.headers, ...cookie };
    const response = await fetch(`${this.#url}${path}`, { ...init, headers, redirect: 'manual' });
    const [set] = response.headers.getSetCookie();
    if (set !== undefined) this.#cookie = set.split(';')[0] ?? '';
    return {
      status: response.status,
      location: response.headers.get('location'),
      headers: Object.fromEntries(response.headers),
      setCookie: set ?? null,
      text: await response.text(),
    };
  }
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly location: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly setCookie: string | null;
  readonly text: string;
}

/** The hidden tokens of the form with this action. */
export function tokensOf(page: string, action: string): { csrf: string; once: string } {
  const { csrf = '', once = '' } = valuesOf(page, action);
  return { csrf, once };
}

/** The fields of the form with this action, with the values that the page gives them. */
export function valuesOf(page: string, action: string): Record<string, string> {
  const at = page.indexOf(`action="${action}"`);
  const form = at < 0 ? '' : page.slice(at, page.indexOf('</form>', at));
  const inputs = [...form.matchAll(/<input\s[^>]*>/g)].map(([input]) => {
    const valueIn = (name: string) => unescaped(new RegExp(`\\s${name}="([^"]*)"`).exec(input)?.[1] ?? '');
    return [valueIn('name'), valueIn('value')] as const;
  });
  return Object.fromEntries(inputs);
}

/** The path of the first link that matches; '' when there is none. */
export function linkIn(page: string, pattern: RegExp): string {
  const paths = [...page.matchAll(/href="([^"]*)"/g)].map(([, path = '']) => unescaped(path));
  return paths.find((path) => pattern.test(path)) ?? '';
}

/** The words of a page. */
export function textOf(page: string): string {
  return unescaped(page.replace(/<wbr[^>]*>/g, '').replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ');
}

function unescaped(text: string): string {
  return text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&');
}
