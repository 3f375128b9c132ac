import { isolationFigure } from './isolation-figure.ts';

/**
 * An account may have a quarter of all slots in flight. Two accounts fill the fast lane, which has a third.
 */
const ACCOUNTS = 3;

export const manyWebhooks = isolationFigure({
  id: 'many-webhooks',
  title: 'Beside three accounts with 100 busy webhooks each',
  accounts: ACCOUNTS,
  how:
    'Three other accounts have 100 endpoints each that answer 200 after half a second, and 100 deliveries queued for ' +
    'each endpoint: they fill every slot of the fast lane, and leave time to the processor of the worker. Every ' +
    'account has the same share of the lane, whatever its number of webhooks.',
  endpoints: ({ isolation }, origins) =>
    Array.from({ length: ACCOUNTS * isolation.busyWebhooks }, (_, index) => {
      const origin = origins[index % origins.length] ?? '';
      return `${origin}/after-500-ms/${index}`;
    }),
  queue: (installation, webhooks, { isolation }) =>
    installation.queue(webhooks, webhooks.length * isolation.busyQueue),
});
