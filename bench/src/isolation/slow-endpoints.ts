import type { Figure } from '../figure.ts';
import { slowEndpointFigure } from './slow-endpoint.ts';

/** As ordinary serverless handlers: 60, 48 and 80 attempts of theirs are in flight when none of them waits. */
export const slowEndpoints: readonly Figure[] = [
  slowEndpointFigure({ id: 'slow-600-ms', takesMs: 600, perSecond: 100 }),
  slowEndpointFigure({ id: 'slow-1200-ms', takesMs: 1_200, perSecond: 40 }),
  slowEndpointFigure({ id: 'slow-4-s', takesMs: 4_000, perSecond: 20 }),
];
