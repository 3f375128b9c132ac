import { isolationFigure } from './isolation-figure.ts';

export const manyNeverAnswer = isolationFigure({
  id: 'many-never-answer',
  title: 'Beside 200 endpoints that never answer',
  how: '200 endpoints on hosts of their own take the request and never answer; 100 deliveries are queued for each.',
  endpoints: ({ isolation }, origins) =>
    Array.from(
      { length: isolation.hangingEndpoints },
      (_, n) => `${origins[1 + (n % (origins.length - 1))] ?? ''}/never/${n}`,
    ),
  queue: (installation, webhooks, { isolation }) =>
    installation.queue(webhooks, isolation.hangingEndpoints * isolation.hangingQueue),
});
