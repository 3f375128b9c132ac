import { isolationFigure } from './isolation-figure.ts';

const ACCOUNTS = 8;
const TAKES_MS = 9_000;

export const answersLate = isolationFigure({
  id: 'answers-late',
  title: 'Beside eight accounts whose endpoints take 9 s',
  how:
    'Eight accounts have one endpoint each, which answers 200 after nine seconds, and as much queued as they can get. The ' +
    'measured time begins when they have answered twice: by then they are known to be healthy.',
  accounts: ACCOUNTS,
  leadInSeconds: ({ isolation }) => isolation.lateLeadInSeconds,
  endpoints: (_, origins) => origins.slice(0, ACCOUNTS).map((origin) => `${origin}/after-${TAKES_MS}-ms`),
  queue: (installation, webhooks, { isolation }) =>
    installation.queue(webhooks, webhooks.length * isolation.lateQueue),
});
