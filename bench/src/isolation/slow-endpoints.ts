import type { Figure } from '../figure.ts';
import { slowEndpointFigure } from './slow-endpoint.ts';

/** Like ordinary serverless handlers. Without waiting, 60, 48 and 80 of their attempts are in flight. */
export const slowEndpoints: readonly Figure[] = [
  slowEndpointFigure({ id: 'slow-600-ms', takesMs: 600, perSecond: 100 }),
  slowEndpointFigure({ id: 'slow-1200-ms', takesMs: 1_200, perSecond: 40 }),
  slowEndpointFigure({ id: 'slow-4-s', takesMs: 4_000, perSecond: 20 }),
];
