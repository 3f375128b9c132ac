import { isolationFigure } from './isolation-figure.ts';

export const drips = isolationFigure({
  id: 'drips',
  title: 'Beside one endpoint that drips',
  how: 'One endpoint sends the head of its answer a byte a second; 20,000 deliveries are queued for it.',
  endpoints: (_, origins) => [`${origins[1] ?? ''}/drip`],
  queue: (installation, webhooks, { isolation }) => installation.queue(webhooks, isolation.oneEndpointQueue),
});
