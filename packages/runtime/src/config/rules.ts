import type { ConfigurationOf } from './configuration.ts';
import type { ProcessName } from './setting.ts';
import { LEASE_MARGIN_SECONDS } from './settings/delivery.ts';

/** What is known of a configuration: a process lacks the keys it does not use, and those that did not parse. */
type Known = Partial<ConfigurationOf<ProcessName>>;

/** A rule over more than one key: the problem in words that begin with the key to change, or undefined. */
type Rule = (config: Known) => string | undefined;

const inProduction = (config: Known): boolean => config.nodeEnv === 'production';

const allowedNetworksAreForDevelopment: Rule = (config) =>
  inProduction(config) && (config.deliveryAllowedNetworks ?? []).length > 0
    ? 'DELIVERY_ALLOWED_NETWORKS is for development only and refused when NODE_ENV=production'
    : undefined;

const signingCertFileIsForDevelopment: Rule = (config) =>
  inProduction(config) && config.snsSigningCertFile !== undefined
    ? 'SNS_SIGNING_CERT_FILE is for development only and refused when NODE_ENV=production'
    : undefined;

const smtpNeedsItsServer: Rule = (config) =>
  config.mailProvider === 'smtp' && 'smtpUrl' in config && config.smtpUrl === undefined
    ? 'SMTP_URL is required when MAIL_PROVIDER=smtp'
    : undefined;

const sesNeedsItsRegion: Rule = (config) =>
  config.mailProvider === 'ses' && 'awsRegion' in config && config.awsRegion === undefined
    ? 'AWS_REGION is required when MAIL_PROVIDER=ses'
    : undefined;

const leaseOutlastsAttempt: Rule = ({ leaseSeconds, deliveryTimeoutMs }) =>
  leaseSeconds !== undefined &&
  deliveryTimeoutMs !== undefined &&
  leaseSeconds * 1000 <= deliveryTimeoutMs + LEASE_MARGIN_SECONDS * 1000
    ? `LEASE_SECONDS must exceed DELIVERY_TIMEOUT_MS by more than ${LEASE_MARGIN_SECONDS} s (got ${leaseSeconds} s and ${deliveryTimeoutMs} ms)`
    : undefined;

/** The rules that hold between keys. Each applies to the processes that have its keys. */
export const rules: readonly Rule[] = [
  allowedNetworksAreForDevelopment,
  signingCertFileIsForDevelopment,
  smtpNeedsItsServer,
  sesNeedsItsRegion,
  leaseOutlastsAttempt,
];
