import { isolationFigure } from './isolation-figure.ts';

export const neverAnswers = isolationFigure({
  id: 'never-answers',
  title: 'Beside one endpoint that never answers',
  how: 'One endpoint takes the request and never answers; 20,000 deliveries are queued for it.',
  endpoints: (_, origins) => [`${origins[1] ?? ''}/never`],
  queue: (installation, webhooks, { isolation }) => installation.queue(webhooks, isolation.oneEndpointQueue),
});
