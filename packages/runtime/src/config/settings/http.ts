import { baseUrl, hostName, port, wholeNumber } from '../schemas.ts';
import { defineSetting } from '../setting.ts';

/** The API: address, problem documents and limits. */
export const httpSettings = {
  host: defineSetting({
    key: 'HOST',
    description: 'Address the API listens on.',
    schema: hostName,
    default: '127.0.0.1',
    processes: ['api'],
  }),
  port: defineSetting({
    key: 'PORT',
    description:
      'Port the API listens on; it serves `/healthz`, `/readyz` and `/metrics` there too. 0 means any free port.',
    schema: port,
    default: '3000',
    processes: ['api'],
  }),
  httpConnectionsPerAddressMax: defineSetting({
    key: 'HTTP_CONNECTIONS_PER_ADDRESS_MAX',
    description:
      'Connections that the API takes from one address, or from one /64 of IPv6; loopback has no limit. 0: no limit, for ' +
      'an API behind a proxy on another machine, whose address all clients share.',
    unit: 'connections',
    schema: wholeNumber(0, 1_000_000),
    default: '256',
    processes: ['api'],
  }),
  problemsBase: defineSetting({
    key: 'PROBLEMS_BASE',
    description: "Start of the `type` of this service's own problem documents.",
    schema: baseUrl,
    default: 'https://postrider.example/problems',
    processes: ['api'],
  }),
  platformProblemsBase: defineSetting({
    key: 'PLATFORM_PROBLEMS_BASE',
    description:
      'Start of the `type` of problems that belong to the whole platform: keys, limits, unknown paths.',
    schema: baseUrl,
    default: 'https://platform.postrider.example/problems',
    processes: ['api'],
  }),
  keyRateLimitPerMinute: defineSetting({
    key: 'KEY_RATE_LIMIT_PER_MINUTE',
    description: 'Limit of an API key that has none of its own. A batch costs one per message.',
    unit: 'requests/min',
    schema: wholeNumber(1, 1_000_000),
    default: '60',
    processes: ['api', 'console'],
  }),
  deliveriesPerAccountPerSecond: defineSetting({
    key: 'DELIVERIES_PER_ACCOUNT_PER_SECOND',
    description:
      'Deliveries that one account may write by requests without a rate limit, on average and in one API process. A ' +
      'suppression or a topic that makes none counts as one. Further such requests wait, then get 503.',
    unit: 'deliveries/s',
    schema: wholeNumber(1, 1_000_000),
    default: '2000',
    processes: ['api'],
  }),
  outstandingDeliveriesPerAccountMax: defineSetting({
    key: 'OUTSTANDING_DELIVERIES_PER_ACCOUNT_MAX',
    description:
      'While an account has about this many outstanding deliveries, its requests without a rate limit wait, then get 503, and ' +
      'its recoveries wait.',
    unit: 'deliveries',
    schema: wholeNumber(1, 1_000_000_000),
    default: '1000000',
    processes: ['api', 'relay', 'console'],
  }),
  webhooksPerAccountMax: defineSetting({
    key: 'WEBHOOKS_PER_ACCOUNT_MAX',
    description:
      'How many webhooks an account may have; `postrider account limit` sets another number for one account. Recording an event reads all webhooks of its account, which takes 5 to 10 ms for 10,000.',
    unit: 'webhooks',
    schema: wholeNumber(1, 10_000),
    default: '100',
    processes: ['api', 'console'],
  }),
};
