import type { Route } from '../src/routes/route.ts';

/** The name of a route in tests: `GET /v1/emails/:id`. */
export function routeName({ method, path }: Pick<Route, 'method' | 'path'>): string {
  return `${method.toUpperCase()} ${path}`;
}
