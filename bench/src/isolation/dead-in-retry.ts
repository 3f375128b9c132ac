import { deadEndpoints } from '../fixture/loopback.ts';
import { isolationFigure } from './isolation-figure.ts';

/** The first default retry delay: no delivery is retried more often. */
const RETRY_WITHIN_SECONDS = 30;

export const deadInRetry = isolationFigure({
  id: 'dead-in-retry',
  title: 'Beside 5,000 dead endpoints in retry',
  how:
    '5,000 endpoints on hosts of their own refuse the connection. Each has one delivery whose first attempt has failed: ' +
    'the second attempts come due evenly over the next 30 seconds, some 170 a second, and the third ones a minute after ' +
    'them. It is the busiest time of the default schedule.',
  endpoints: ({ isolation }) => deadEndpoints(isolation.deadEndpoints),
  queue: (installation, webhooks) =>
    installation.queue(webhooks, webhooks.length, { attempts: 1, dueWithinSeconds: RETRY_WITHIN_SECONDS }),
});
