import { deadEndpoints } from '../fixture/loopback.ts';
import { isolationFigure } from './isolation-figure.ts';

/** The first default retry delay: no delivery is retried more often. */
const RETRY_WITHIN_SECONDS = 30;
const LATE_ACCOUNTS = 8;
const LATE_MS = 9_000;
/** The worst case of `ACCOUNT_SHARE`: three accounts turn slow together. */
const BUSY_ACCOUNTS = 3;

export const neverAnswers = isolationFigure({
  id: 'never-answers',
  title: 'Beside one endpoint that never answers',
  how: 'One endpoint takes the request and never answers; 20,000 deliveries are queued for it.',
  endpoints: (_, origins) => [`${origins[1] ?? ''}/never`],
  queue: (installation, webhooks, { isolation }) => installation.queue(webhooks, isolation.oneEndpointQueue),
});

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

export const drips = isolationFigure({
  id: 'drips',
  title: 'Beside one endpoint that drips',
  how: 'One endpoint sends the head of its answer a byte a second; 20,000 deliveries are queued for it.',
  endpoints: (_, origins) => [`${origins[1] ?? ''}/drip`],
  queue: (installation, webhooks, { isolation }) => installation.queue(webhooks, isolation.oneEndpointQueue),
});

export const answersLate = isolationFigure({
  id: 'answers-late',
  title: 'Beside eight accounts whose endpoints take 9 s',
  how:
    'Eight accounts have one endpoint each, which answers 200 after nine seconds, and as much queued as they can get. The ' +
    'measured time begins when they have answered twice: by then they are known to be healthy.',
  accounts: LATE_ACCOUNTS,
  leadInSeconds: ({ isolation }) => isolation.lateLeadInSeconds,
  endpoints: (_, origins) => origins.slice(0, LATE_ACCOUNTS).map((origin) => `${origin}/after-${LATE_MS}-ms`),
  queue: (installation, webhooks, { isolation }) =>
    installation.queue(webhooks, webhooks.length * isolation.lateQueue),
});

export const manyWebhooks = isolationFigure({
  id: 'many-webhooks',
  title: 'Beside three accounts with 100 busy webhooks each',
  accounts: BUSY_ACCOUNTS,
  how:
    'Three other accounts have 100 endpoints each that answer 200 after half a second, and 100 deliveries queued for ' +
    'each endpoint. They have as much in flight as three accounts may: 1,152 or less of the 1,792 attempts of the fast ' +
    'lane. They leave time to the processor of the worker. Every ' +
    'account has the same share of the lane, whatever its number of webhooks.',
  endpoints: ({ isolation }, origins) =>
    Array.from({ length: BUSY_ACCOUNTS * isolation.busyWebhooks }, (_, index) => {
      const origin = origins[index % origins.length] ?? '';
      return `${origin}/after-500-ms/${index}`;
    }),
  queue: (installation, webhooks, { isolation }) =>
    installation.queue(webhooks, webhooks.length * isolation.busyQueue),
});
