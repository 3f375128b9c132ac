import type { ConfigurationOf } from './configuration.ts';
import type { ProcessName } from './setting.ts';
import { LEASE_MARGIN_SECONDS } from './settings/delivery.ts';

/** The parsed settings. A key is missing when the process does not use it, or when its value is wrong. */
type Known = Partial<ConfigurationOf<ProcessName>>;

/**
 * Checks several settings together. Returns the problem, which begins with the key to change, or undefined.
 */
type Rule = (config: Known) => string | undefined;

/** An installation without NODE_ENV may be production. */
export const inDevelopment = ({ nodeEnv }: Known): boolean => nodeEnv === 'development' || nodeEnv === 'test';
const FOR_DEVELOPMENT = 'is for development only: it needs NODE_ENV=development or NODE_ENV=test';

const allowedNetworksAreForDevelopment: Rule = (config) =>
  !inDevelopment(config) && (config.deliveryAllowedNetworks ?? []).length > 0
    ? `DELIVERY_ALLOWED_NETWORKS ${FOR_DEVELOPMENT}`
    : undefined;

const signingCertFileIsForDevelopment: Rule = (config) =>
  !inDevelopment(config) && config.snsSigningCertFile !== undefined
    ? `SNS_SIGNING_CERT_FILE ${FOR_DEVELOPMENT}`
    : undefined;

const smtpNeedsItsServer: Rule = (config) =>
  config.mailProvider === 'smtp' && 'smtpUrl' in config && config.smtpUrl === undefined
    ? 'SMTP_URL is required when MAIL_PROVIDER=smtp'
    : undefined;

const sesNeedsItsRegion: Rule = (config) =>
  config.mailProvider === 'ses' && 'awsRegion' in config && config.awsRegion === undefined
    ? 'AWS_REGION is required when MAIL_PROVIDER=ses'
    : undefined;

const operatorEventsAreSigned: Rule = (config) =>
  config.operatorWebhookUrl !== undefined &&
  'operatorWebhookSecret' in config &&
  config.operatorWebhookSecret === undefined
    ? 'OPERATOR_WEBHOOK_SECRET is required with OPERATOR_WEBHOOK_URL (openssl rand -hex 32)'
    : undefined;

const leaseOutlastsAttempt: Rule = ({ leaseSeconds, deliveryTimeoutMs }) =>
  leaseSeconds !== undefined &&
  deliveryTimeoutMs !== undefined &&
  leaseSeconds * 1000 <= deliveryTimeoutMs + LEASE_MARGIN_SECONDS * 1000
    ? `LEASE_SECONDS must exceed DELIVERY_TIMEOUT_MS by more than ${LEASE_MARGIN_SECONDS} s (got ${leaseSeconds} s and ${deliveryTimeoutMs} ms)`
    : undefined;

/** Otherwise three accounts with slow endpoints could fill the fast lane: see `ACCOUNT_SHARE`. */
const slowLaneIsAtMostTwiceTheSlots: Rule = ({ deliveryConcurrency, slowLaneConcurrency }) =>
  deliveryConcurrency !== undefined &&
  slowLaneConcurrency !== undefined &&
  slowLaneConcurrency > 2 * deliveryConcurrency
    ? `SLOW_LANE_CONCURRENCY must be at most twice DELIVERY_CONCURRENCY (got ${slowLaneConcurrency} and ${deliveryConcurrency})`
    : undefined;

const certificateHasItsKey: Rule = (config) =>
  'inboundTlsCertFile' in config &&
  (config.inboundTlsCertFile === undefined) !== (config.inboundTlsKeyFile === undefined)
    ? 'INBOUND_TLS_CERT_FILE and INBOUND_TLS_KEY_FILE are set together or not at all'
    : undefined;

/** Header names ignore case. */
const signatureHeadersDiffer: Rule = ({ standardWebhooksHeaders, signatureHeaderPrefix }) =>
  standardWebhooksHeaders === true && signatureHeaderPrefix?.toLowerCase() === 'webhook'
    ? 'SIGNATURE_HEADER_PREFIX must not be webhook when STANDARD_WEBHOOKS_HEADERS=true: both name webhook-signature'
    : undefined;

/** All rules. Each applies to the processes that have its keys. */
export const rules: readonly Rule[] = [
  allowedNetworksAreForDevelopment,
  signingCertFileIsForDevelopment,
  smtpNeedsItsServer,
  sesNeedsItsRegion,
  operatorEventsAreSigned,
  leaseOutlastsAttempt,
  slowLaneIsAtMostTwiceTheSlots,
  certificateHasItsKey,
  signatureHeadersDiffer,
];
