/** The result of a request to the API. */
export type ApiAnswer =
  | { readonly outcome: 'answered'; readonly status: number; readonly body: unknown }
  /** Nothing listened, so the request was not made. */
  | { readonly outcome: 'refused' }
  /** The connection broke, or no answer came in time. The API may have done it. */
  | { readonly outcome: 'unknown'; readonly error: string };

/** The status, or why there is none. */
export function statusOf(answer: ApiAnswer): number | 'refused' | 'unknown' {
  return answer.outcome === 'answered' ? answer.status : answer.outcome;
}

/** A customer's client. It never repeats a request. */
export interface ApiClient {
  /** The header's value, for requests that this client cannot make. */
  readonly authorization: string;
  request(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<ApiAnswer>;
}

const ANSWER_WITHIN_MS = 15_000;

/** @param baseUrl is called before each request: a restarted API has another port. */
export function createApiClient(baseUrl: () => string, apiKey: string): ApiClient {
  const authorization = `Bearer ${apiKey}`;
  return {
    authorization,
    async request(method, path, body) {
      try {
        const response = await fetch(`${baseUrl()}${path}`, {
          method,
          headers: { authorization, 'content-type': 'application/json' },
          signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        const isJson = response.headers.get('content-type')?.includes('json') === true;
        return { outcome: 'answered', status: response.status, body: isJson ? JSON.parse(text) : text };
      } catch (error) {
        const cause = error instanceof Error ? (error.cause ?? error) : error;
        if ((cause as NodeJS.ErrnoException).code === 'ECONNREFUSED') return { outcome: 'refused' };
        return { outcome: 'unknown', error: String(cause) };
      }
    },
  };
}
