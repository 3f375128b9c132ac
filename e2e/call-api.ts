import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';

export interface CallAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Fetches again while the API answers 429. On a busy machine it may refuse requests that its limiter did not
 * count within 250 ms.
 */
export async function fetchAgainOn429(url: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const response = await fetch(url, init);
    if (response.status !== 429) return response;
    await delay(200);
  }
}

/** Sends a request to the API. Repeats it while the API answers 429 or 5xx, or not at all. */
export async function callApi(
  { api, key }: { readonly api: SystemProcess; readonly key: string },
  method: string,
  path: string,
  body?: object,
): Promise<CallAnswer> {
  const url = `http://127.0.0.1:${await api.port('api')}${path}`;
  const headers = { authorization: `Bearer ${key}` };
  return waitFor(
    async () => {
      const json = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(url, { method, headers, ...json });
      const { status } = response;
      if (status === 429 || status >= 500) throw new Error(`${status}: ${await response.text()}`);
      return { status, body: (await response.json()) as CallAnswer['body'] };
    },
    { what: `${method} ${path}` },
  );
}
