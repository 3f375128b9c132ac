import { isolationFigure } from './isolation-figure.ts';

export const flood = isolationFigure({
  id: 'flood',
  title: 'Beside an account with 200,000 queued',
  how:
    'Another account has one endpoint, which answers at once, and 200,000 deliveries queued for it. What a worker has ' +
    'taken waits for nothing, so the flood takes all that the cores have to spare: with none to spare the aim is 5 ×.',
  besideAtMostOnFullCores: 5,
  endpoints: (_, origins) => [`${origins[1] ?? ''}/at-once`],
  queue: (installation, webhooks, { isolation }) => installation.queue(webhooks, isolation.floodQueue),
});
