import { setTimeout as delay } from 'node:timers/promises';
import type { SystemProcess } from '@postrider/testing';

export interface CallAnswer {
  readonly status: number;
  readonly headers: Headers;
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

/** Sends a request to the API, again while the API answers 429. */
export async function callApi(
  { api, key }: { readonly api: SystemProcess; readonly key: string },
  method: string,
  path: string,
  body?: object,
): Promise<CallAnswer> {
  const response = await fetchAgainOn429(`http://127.0.0.1:${await api.port('api')}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as CallAnswer['body'] };
}
