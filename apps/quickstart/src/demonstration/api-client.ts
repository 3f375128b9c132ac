import { StartError } from '../settings.ts';

/** The API as a customer calls it. */
export interface ApiClient {
  request<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T>;
}

const TIMEOUT_MS = 15_000;

/** @throws StartError for an answer that is not a success, with the problem's own words. */
export function createApiClient(baseUrl: string, key: string): ApiClient {
  return {
    async request<T>(method: string, path: string, body?: unknown) {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new StartError(`${method} ${path} answered ${response.status}: ${text}`);
      return JSON.parse(text) as T;
    },
  };
}
