import {
  awsRegion,
  delaysSeconds,
  filePath,
  httpsBaseUrl,
  oneOf,
  sesConfigurationSet,
  topicArns,
  trueOrFalse,
  urlOf,
  wholeNumber,
} from '../schemas.ts';
import { defineOptionalSetting, defineSetting } from '../setting.ts';

/** Outgoing mail: provider, retries, sending domains and notifications. */
export const mailSettings = {
  mailProvider: defineOptionalSetting({
    key: 'MAIL_PROVIDER',
    description:
      'Mail provider: `sandbox` keeps mail in a folder, `smtp` sends it to `SMTP_URL`, `ses` to Amazon SES in ' +
      '`AWS_REGION`. Sending domains exist with `ses` only. Not set: the provider that the installation stores, else ' +
      '`sandbox`. A value that differs from the stored one stops the process ' +
      '(`postrider installation set mail-provider`).',
    schema: oneOf('sandbox', 'smtp', 'ses'),
    processes: ['api', 'worker', 'inbound'],
  }),
  smtpUrl: defineOptionalSetting({
    key: 'SMTP_URL',
    description:
      'The server for `MAIL_PROVIDER=smtp`, as nodemailer reads it: `smtp://user:password@host:587`.',
    schema: urlOf('smtp', 'smtps'),
    // The URL's query may hold the password of a proxy, or the passphrase of a key.
    secret: 'whole',
    processes: ['worker'],
  }),
  smtpAllowPlaintext: defineSetting({
    key: 'SMTP_ALLOW_PLAINTEXT',
    description:
      '`true`: login and mail may go to `SMTP_URL` unencrypted. Otherwise a server that is not on loopback, and ' +
      'each server behind a `proxy`, must offer TLS (`smtps:` or STARTTLS). Without TLS the worker sends nothing and tries again later.',
    schema: trueOrFalse,
    default: 'false',
    processes: ['worker'],
  }),
  sandboxDir: defineSetting({
    key: 'SANDBOX_DIR',
    description: 'Folder where the sandbox provider keeps messages.',
    schema: filePath,
    default: '.data/sandbox',
    processes: ['worker'],
  }),
  mailConcurrency: defineSetting({
    key: 'MAIL_CONCURRENCY',
    description: 'Messages that one worker process sends to the provider at once.',
    unit: 'messages',
    schema: wholeNumber(1, 10_000),
    default: '16',
    processes: ['worker'],
  }),
  mailTimeoutMs: defineSetting({
    key: 'MAIL_TIMEOUT_MS',
    description:
      'Time limit of one attempt to send a message to SES. With `smtp`: until the connection is open; the two settings ' +
      'below limit the rest.',
    unit: 'ms',
    schema: wholeNumber(1, 600_000),
    default: '30000',
    processes: ['worker'],
  }),
  smtpReplyTimeoutMs: defineSetting({
    key: 'SMTP_REPLY_TIMEOUT_MS',
    description:
      'How long the server of `SMTP_URL` may take for its greeting, for each reply, and for each 64 KiB of a message ' +
      '(RFC 5321 4.5.3.2).',
    unit: 'ms',
    schema: wholeNumber(1, 3_600_000),
    default: '300000',
    processes: ['worker'],
  }),
  smtpFinalReplyTimeoutMs: defineSetting({
    key: 'SMTP_FINAL_REPLY_TIMEOUT_MS',
    description:
      'How long the server of `SMTP_URL` may take for its reply to a whole message. After that time the message may ' +
      'have been delivered: a shorter time makes copies (RFC 5321 4.5.3.2.6).',
    unit: 'ms',
    schema: wholeNumber(1, 3_600_000),
    default: '600000',
    processes: ['worker'],
  }),
  mailRetryDelaysSeconds: defineSetting({
    key: 'MAIL_RETRY_DELAYS_SECONDS',
    description:
      'Pause after the end of each failed attempt; fractions allowed. A message fails after entries + 1 attempts.',
    unit: 's',
    schema: delaysSeconds,
    default: '30,60,120,240,480,960,1920',
    processes: ['worker'],
  }),
  awsRegion: defineOptionalSetting({
    key: 'AWS_REGION',
    description:
      'Region of SES, also over SMTP; required by `MAIL_PROVIDER=ses`. The Message-IDs that SES writes ' +
      'have it: with S3 in another region, replies name wrong ones. The AWS SDK reads the credentials and everything else about AWS: ' +
      '`AWS_ACCESS_KEY_ID`, a profile, the role of the container or the machine; `AWS_ENDPOINT_URL_SESV2`.',
    schema: awsRegion,
    processes: ['api', 'worker'],
  }),
  sesConfigurationSet: defineOptionalSetting({
    key: 'SES_CONFIGURATION_SET',
    description:
      'Configuration set of every message to SES. Its event destinations report deliveries, bounces and complaints. ' +
      'Set it alike on APIs and workers: for a new domain, the API then ends the mail of SES about bounces and complaints ' +
      'to the sender. Not set: SES sends this mail, and reports to Postrider only about domains with a configuration ' +
      'set or notifications of their own.',
    schema: sesConfigurationSet,
    processes: ['api', 'worker'],
  }),
  domainTimeoutMs: defineSetting({
    key: 'DOMAIN_TIMEOUT_MS',
    description: 'Time limit of one operation on a sending domain at the provider, at most 15,000.',
    unit: 'ms',
    // The API closes a connection that is silent for 120 s. With 15 s, a request is silent for 90 s at most:
    // 30 s while it waits for other domain requests of its account, then three turns at the domain, two of
    // other requests and its own. A turn lasts up to this setting + 5 s.
    schema: wholeNumber(1, 15_000),
    default: '10000',
    processes: ['api'],
  }),
  domainsPerAccountMax: defineSetting({
    key: 'DOMAINS_PER_ACCOUNT_MAX',
    description:
      'Sending domains that an account may have; `postrider account limit` sets another number for one account. SES ' +
      'keeps 10,000 identities per region, for all accounts together.',
    unit: 'domains',
    schema: wholeNumber(0, 10_000),
    default: '100',
    processes: ['api', 'console'],
  }),
  unverifiedDomainsPerAccountMax: defineSetting({
    key: 'UNVERIFIED_DOMAINS_PER_ACCOUNT_MAX',
    description:
      'Unverified sending domains that an account may have; `postrider account limit` sets another number ' +
      'for one account.',
    unit: 'domains',
    schema: wholeNumber(0, 10_000),
    default: '10',
    processes: ['api', 'console'],
  }),
  domainClaimDays: defineSetting({
    key: 'DOMAIN_CLAIM_DAYS',
    description: 'How long a sending domain that was never verified keeps its name from other accounts.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '7',
    processes: ['api'],
  }),
  publicUrl: defineOptionalSetting({
    key: 'PUBLIC_URL',
    description:
      'URL of the API on the Internet. Mail about a topic carries links under `<PUBLIC_URL>/u/` to unsubscribe with one ' +
      'click; not set: no links. Links to attachments are under `<PUBLIC_URL>/links/`; not set: under `http` and the host ' +
      'of the request.',
    schema: httpsBaseUrl,
    processes: ['api', 'worker', 'console'],
  }),
  snsTopicArns: defineSetting({
    key: 'SNS_TOPIC_ARNS',
    description:
      'SNS topics whose notifications the API accepts, comma-separated. Empty: it refuses every notification.',
    schema: topicArns,
    default: '',
    processes: ['api'],
  }),
  snsAllowSha1: defineSetting({
    key: 'SNS_ALLOW_SHA1',
    description:
      'Whether the API accepts notifications with signature version 1, which is SHA-1. Better set the attribute ' +
      '`SignatureVersion` of the topic to 2.',
    schema: trueOrFalse,
    default: 'false',
    processes: ['api'],
  }),
  snsSigningCertFile: defineOptionalSetting({
    key: 'SNS_SIGNING_CERT_FILE',
    description:
      'PEM file used in place of the certificate that a notification names. For development only: refused ' +
      'without `NODE_ENV=development` or `NODE_ENV=test`.',
    schema: filePath,
    processes: ['api'],
  }),
};
