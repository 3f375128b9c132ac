import { delaysSeconds, httpToken, networks, oneOf, wholeNumber } from '../schemas.ts';
import { type Environment, defineSetting } from '../setting.ts';

const LEASE_DEFAULT_SECONDS = 30;
/** How much longer a lease lasts than the attempt it covers, at the very least: time to record the outcome. */
export const LEASE_MARGIN_SECONDS = 5;

/** A worker parks an attempt of the fast lane after this time: the attempt goes on, and its slot serves another one. */
export const PARK_AFTER_MS = 100;
/**
 * Parked attempts per slot of the fast lane. A parked attempt costs a socket, not a processor. One account may have a
 * quarter of the announced slots in flight. So three accounts whose endpoints turn slow together fit in.
 */
export const PARKED_PER_SLOT = 3;

const CONCURRENCY_DEFAULT = 256;

/** A longer time limit alone must not stop a process: the lease follows it unless it is set as well. */
function leaseDefault(env: Environment): string {
  const timeoutSeconds = Math.ceil(Number(env['DELIVERY_TIMEOUT_MS'] ?? 0) / 1000);
  // A time limit that is no number is reported for itself.
  return String(Math.max(LEASE_DEFAULT_SECONDS, (timeoutSeconds || 0) + 2 * LEASE_MARGIN_SECONDS));
}

/** A smaller fast lane alone must not stop a process: the slow lane follows it unless it is set as well. */
function slowLaneDefault(env: Environment): string {
  const twice = 2 * Number(env['DELIVERY_CONCURRENCY'] ?? CONCURRENCY_DEFAULT);
  // A value that is no number of slots is reported for itself.
  return twice >= 2 ? String(Math.min(CONCURRENCY_DEFAULT, Math.floor(twice))) : String(CONCURRENCY_DEFAULT);
}

/** Webhook delivery: when to try, how long, how many at once. */
export const deliverySettings = {
  signatureHeaderPrefix: defineSetting({
    key: 'SIGNATURE_HEADER_PREFIX',
    description: 'Start of the headers on a delivery: `Service` gives `Service-Signature`.',
    schema: httpToken,
    default: 'Service',
    processes: ['worker'],
  }),
  deliveryRetryDelaysSeconds: defineSetting({
    key: 'DELIVERY_RETRY_DELAYS_SECONDS',
    description:
      'Pause after each failed attempt, from its end, fractions allowed. Entries + 1 attempts are made before a delivery ' +
      'becomes a dead letter.',
    unit: 's',
    schema: delaysSeconds,
    default: '30,60,120,240,480,960,1920',
    processes: ['worker'],
  }),
  deliveryTimeoutMs: defineSetting({
    key: 'DELIVERY_TIMEOUT_MS',
    description:
      'Time limit of one attempt; name lookup, connect and TLS included. Set it alike on relay and workers.',
    unit: 'ms',
    schema: wholeNumber(1, 600_000),
    default: '10000',
    processes: ['relay', 'worker'],
  }),
  deliveryHttpClient: defineSetting({
    key: 'DELIVERY_HTTP_CLIENT',
    description:
      'What attempts are made with: `https` is Node’s own client, `got` the one to step back to. Endpoints see no difference; ' +
      '`got` takes more than twice the CPU a request.',
    schema: oneOf('https', 'got'),
    default: 'https',
    processes: ['worker'],
  }),
  deliveryConcurrency: defineSetting({
    key: 'DELIVERY_CONCURRENCY',
    description:
      'Deliveries that one worker process makes at once, and up to 15 more, because one job of the queue may carry several. ' +
      `An attempt that takes longer than ${PARK_AFTER_MS} ms frees its slot and goes on: up to ${PARKED_PER_SLOT} times ` +
      'as many run beside. Set it alike on relay and workers.',
    unit: 'deliveries',
    schema: wholeNumber(1, 10_000),
    default: String(CONCURRENCY_DEFAULT),
    processes: ['relay', 'worker'],
  }),
  slowLaneConcurrency: defineSetting({
    key: 'SLOW_LANE_CONCURRENCY',
    description:
      'The same for endpoints that lately failed or take longer than a second: they have slots of their own. At most ' +
      'twice `DELIVERY_CONCURRENCY`.',
    unit: 'deliveries',
    schema: wholeNumber(1, 10_000),
    default: { text: '256, or twice `DELIVERY_CONCURRENCY` if that is less', from: slowLaneDefault },
    processes: ['relay', 'worker'],
  }),
  deliveryAllowedNetworks: defineSetting({
    key: 'DELIVERY_ALLOWED_NETWORKS',
    description:
      'Private networks (CIDR, comma-separated) that deliveries may go to all the same. For development only: ' +
      'refused without `NODE_ENV=development` or `NODE_ENV=test`.',
    schema: networks,
    default: '',
    processes: ['worker'],
  }),
  deliveryDeniedNetworks: defineSetting({
    key: 'DELIVERY_DENIED_NETWORKS',
    description:
      'Networks (CIDR, comma-separated) that no delivery goes to, besides the private and special ones. They win over ' +
      '`DELIVERY_ALLOWED_NETWORKS`.',
    schema: networks,
    default: '',
    processes: ['worker'],
  }),
  leaseSeconds: defineSetting({
    key: 'LEASE_SECONDS',
    description:
      'How long a claimed row stays in the hands of the process that claimed it. A crashed process delays its rows by this ' +
      `much. Must exceed \`DELIVERY_TIMEOUT_MS\` by more than ${LEASE_MARGIN_SECONDS} s.`,
    unit: 's',
    schema: wholeNumber(1, 3600),
    default: {
      text: `${LEASE_DEFAULT_SECONDS}, or \`DELIVERY_TIMEOUT_MS\` + ${2 * LEASE_MARGIN_SECONDS} s if that is more`,
      from: leaseDefault,
    },
    processes: ['relay', 'worker'],
  }),
};
