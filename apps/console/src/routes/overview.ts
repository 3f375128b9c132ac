import type { PageHandler } from '../http/serve-page.ts';
import { overviewPage } from '../pages/overview.ts';

/** `/` */
export function showOverview(): PageHandler {
  return async () => overviewPage();
}
