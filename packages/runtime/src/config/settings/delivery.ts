import { CONTRACT_RETRY_DELAYS_SECONDS } from '@postrider/domain';
import { delaysSeconds, httpToken, networks, oneOf, trueOrFalse, wholeNumber } from '../schemas.ts';
import { type Environment, defineSetting } from '../setting.ts';

/** Time limit of an attempt, unless the operator sets another. */
const DELIVERY_TIMEOUT_DEFAULT_MS = 10_000;
const LEASE_DEFAULT_SECONDS = 30;
/** A lease outlasts its attempt by more than this, so that the worker has time to record the outcome. */
export const LEASE_MARGIN_SECONDS = 5;

/** Attempts of the fast lane per slot. An attempt that waits for an answer costs only a socket. */
export const ATTEMPTS_PER_SLOT = 7;
/**
 * The part of the announced slots that each account may have in flight. It may have all while no other
 * account needs its part.
 *
 * When the endpoints of three accounts turn slow, they must not fill the fast lane. In the worst case the
 * first account was alone, and has all announced slots. The two others have a quarter each, so the three have
 * 1.5 times the announced slots. C is DELIVERY_CONCURRENCY. A rule of the configuration limits
 * SLOW_LANE_CONCURRENCY to 2 C, so there are at most 4 C announced slots. The three have at most
 * 1.5 × 4 C = 6 C of the 7 C attempts of the fast lane.
 */
export const ACCOUNT_SHARE = 1 / 4;

const CONCURRENCY_DEFAULT = 256;

/**
 * The slots that one worker announces: twice `DELIVERY_CONCURRENCY`, and the slow lane's. The fast lane runs
 * more attempts, but that gives no account a larger share.
 */
export function announcedSlots(config: {
  readonly deliveryConcurrency: number;
  readonly slowLaneConcurrency: number;
}): number {
  return 2 * config.deliveryConcurrency + config.slowLaneConcurrency;
}

/** The default follows DELIVERY_TIMEOUT_MS, so that a process with a longer timeout still starts. */
function leaseDefault(env: Environment): string {
  const timeoutSeconds = Math.ceil(Number(env['DELIVERY_TIMEOUT_MS'] ?? 0) / 1000);
  // The loader reports a timeout that is not a number.
  return String(Math.max(LEASE_DEFAULT_SECONDS, (timeoutSeconds || 0) + 2 * LEASE_MARGIN_SECONDS));
}

/** The default follows DELIVERY_CONCURRENCY, so that a process with fewer slots still starts. */
function slowLaneDefault(env: Environment): string {
  const twice = 2 * Number(env['DELIVERY_CONCURRENCY'] ?? CONCURRENCY_DEFAULT);
  // The loader reports a concurrency that is not a whole number.
  return twice >= 2 ? String(Math.min(CONCURRENCY_DEFAULT, Math.floor(twice))) : String(CONCURRENCY_DEFAULT);
}

/** Webhook delivery: retries, time limits and concurrency. */
export const deliverySettings = {
  signatureHeaderPrefix: defineSetting({
    key: 'SIGNATURE_HEADER_PREFIX',
    description:
      'Start of the headers on a delivery: `Service` gives `Service-Signature`. Relays use it for ' +
      '`OPERATOR_WEBHOOK_URL`. Set the same value on API, relays and workers.',
    schema: httpToken,
    default: 'Service',
    processes: ['api', 'relay', 'worker', 'console'],
  }),
  standardWebhooksHeaders: defineSetting({
    key: 'STANDARD_WEBHOOKS_HEADERS',
    description:
      '`true` adds the headers of Standard Webhooks to each delivery: `webhook-id`, `webhook-timestamp` and ' +
      '`webhook-signature`. Its libraries verify them with the `standard_secret` of a webhook.',
    schema: trueOrFalse,
    default: 'false',
    processes: ['worker'],
  }),
  deliveryRetryDelaysSeconds: defineSetting({
    key: 'DELIVERY_RETRY_DELAYS_SECONDS',
    description:
      'Pause after the end of each failed attempt; fractions allowed. A delivery becomes a dead letter after entries + 1 ' +
      'failed attempts.',
    unit: 's',
    schema: delaysSeconds,
    default: CONTRACT_RETRY_DELAYS_SECONDS.join(','),
    processes: ['worker', 'console'],
  }),
  deliveryTimeoutMs: defineSetting({
    key: 'DELIVERY_TIMEOUT_MS',
    description:
      'Time limit of one attempt, including name lookup, connect and TLS. Set the same value on relay and workers.',
    unit: 'ms',
    schema: wholeNumber(1, 600_000),
    default: String(DELIVERY_TIMEOUT_DEFAULT_MS),
    processes: ['relay', 'worker', 'console'],
  }),
  deliveryHttpClient: defineSetting({
    key: 'DELIVERY_HTTP_CLIENT',
    description:
      'HTTP client of the attempts: `https` is Node’s own, `got` the alternative if it makes trouble. Endpoints see no ' +
      'difference. `got` takes more than twice the CPU per request.',
    schema: oneOf('https', 'got'),
    default: 'https',
    processes: ['worker'],
  }),
  deliveryConcurrency: defineSetting({
    key: 'DELIVERY_CONCURRENCY',
    description:
      `Slots of one worker process. It attempts ${ATTEMPTS_PER_SLOT} times as many deliveries at once, because most of ` +
      'them wait for an answer. Up to 15 more may run, because one BullMQ job may carry several. Set the same value on relay and workers.',
    unit: 'deliveries',
    schema: wholeNumber(1, 10_000),
    default: String(CONCURRENCY_DEFAULT),
    processes: ['relay', 'worker'],
  }),
  slowLaneConcurrency: defineSetting({
    key: 'SLOW_LANE_CONCURRENCY',
    description:
      'Deliveries that one worker process attempts at once to endpoints that are failing, or whose attempts take over ' +
      'three seconds. At most twice `DELIVERY_CONCURRENCY`.',
    unit: 'deliveries',
    schema: wholeNumber(1, 10_000),
    default: { text: '256, or twice `DELIVERY_CONCURRENCY` if that is less', from: slowLaneDefault },
    processes: ['relay', 'worker'],
  }),
  deliveryAllowedNetworks: defineSetting({
    key: 'DELIVERY_ALLOWED_NETWORKS',
    description:
      'Private networks (CIDR, comma-separated) that deliveries may reach. For development only: ' +
      'refused without `NODE_ENV=development` or `NODE_ENV=test`.',
    schema: networks,
    default: '',
    processes: ['worker'],
  }),
  deliveryDeniedNetworks: defineSetting({
    key: 'DELIVERY_DENIED_NETWORKS',
    description:
      'Networks (CIDR, comma-separated) that deliveries must not reach, in addition to private and special ones. They ' +
      'win over `DELIVERY_ALLOWED_NETWORKS`.',
    schema: networks,
    default: '',
    processes: ['worker'],
  }),
  leaseSeconds: defineSetting({
    key: 'LEASE_SECONDS',
    description:
      'How long the claim of a row lasts. When a process crashes, its rows wait this long for another process. ' +
      `Must exceed \`DELIVERY_TIMEOUT_MS\` by more than ${LEASE_MARGIN_SECONDS} s.`,
    unit: 's',
    schema: wholeNumber(1, 3600),
    default: {
      text: `${LEASE_DEFAULT_SECONDS}, or \`DELIVERY_TIMEOUT_MS\` + ${2 * LEASE_MARGIN_SECONDS} s if that is more`,
      from: leaseDefault,
    },
    processes: ['relay', 'worker'],
  }),
};
