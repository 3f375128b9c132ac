import { deadEndpoints } from '../ground/loopback.ts';
import type { Sizes } from '../sizes.ts';
import { isolationFigure } from './isolation-figure.ts';

/** Shorter than the time that is looked at, so that every endpoint has its turn in it. */
function retryEverySeconds({ isolation }: Sizes): number {
  return isolation.leadInSeconds + isolation.seconds - 1;
}

export const deadInRetry = isolationFigure({
  id: 'dead-in-retry',
  title: 'Beside 5,000 dead endpoints in retry',
  how:
    '5,000 endpoints on hosts of their own refuse the connection. Each has one delivery that has failed before and is ' +
    'tried every 10 seconds, over and over, evenly in time: some 500 failing attempts a second. (The default schedule ' +
    'begins with 30 s and doubles: it would make some 170 a second at first.)',
  endpoints: ({ isolation }) => deadEndpoints(isolation.deadEndpoints),
  env: (sizes) => ({
    DELIVERY_RETRY_DELAYS_SECONDS: Array.from({ length: 20 }, () => retryEverySeconds(sizes)).join(','),
  }),
  queue: (installation, webhooks, sizes) =>
    installation.queue(webhooks, webhooks.length, {
      attempts: 1,
      dueWithinSeconds: retryEverySeconds(sizes),
    }),
});
