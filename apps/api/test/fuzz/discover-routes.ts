import { jest } from '@jest/globals';
import express from 'express';

interface ListedRoute {
  readonly path: unknown;
  /** Not there for a router under a path of its own. */
  readonly methods?: readonly string[];
}

/** What the express type does not know yet: the public `listRoutes` of router 2. */
interface RoutedApp {
  readonly router: { listRoutes(): readonly ListedRoute[] };
}

/**
 * Every route that an application made by `build` has, as `GET /v1/webhooks/:id`, from Express itself: a route that
 * is added anywhere cannot be forgotten.
 */
export async function discoverRoutes<T>(build: () => Promise<T>): Promise<{ built: T; routes: string[] }> {
  const init = jest.spyOn(express.application, 'init');
  try {
    const built = await build();
    const [app] = init.mock.contexts as unknown as RoutedApp[];
    if (app === undefined) throw new Error('no application was made');
    const routes = app.router.listRoutes().flatMap(({ path, methods }) => {
      if (typeof path !== 'string' || methods === undefined) {
        throw new Error(`the fuzz cannot see what is behind ${String(path)}`);
      }
      return methods.map((method) => `${method} ${path}`);
    });
    return { built, routes };
  } finally {
    init.mockRestore();
  }
}
