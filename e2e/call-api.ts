import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';

export interface CallAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Fetches again while the API answers 429. It refuses what its limiter cannot count within 250 ms, as may
 * happen on a busy machine.
 */
export async function fetchCounted(url: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const response = await fetch(url, init);
    if (response.status !== 429) return response;
    await delay(200);
  }
}

/** A request to the API as a client makes it: again while the service is busy. */
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
