import { StartError } from '../settings.ts';

/** Calls the API with a customer's key. */
export interface ApiClient {
  request<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T>;
}

const TIMEOUT_MS = 15_000;

/** @throws StartError with the text of the problem, when the answer is not 2xx. */
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
