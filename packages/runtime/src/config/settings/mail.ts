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

/** Mail: who takes it, how often it is tried, and who may report on it. */
export const mailSettings = {
  mailProvider: defineOptionalSetting({
    key: 'MAIL_PROVIDER',
    description:
      'Who takes the mail: `sandbox` keeps it in a folder, `smtp` hands it to `SMTP_URL`, `ses` to Amazon SES in ' +
      '`AWS_REGION`. Sending domains exist with `ses` only. Not set: what the installation keeps, else `sandbox`. Set to ' +
      'another than it keeps: the process exits (`postrider installation set mail-provider`).',
    schema: oneOf('sandbox', 'smtp', 'ses'),
    processes: ['api', 'worker', 'inbound'],
  }),
  smtpUrl: defineOptionalSetting({
    key: 'SMTP_URL',
    description:
      'The server for `MAIL_PROVIDER=smtp`, as nodemailer reads it: `smtp://user:password@host:587`.',
    schema: urlOf('smtp', 'smtps'),
    secret: 'password',
    processes: ['worker'],
  }),
  smtpAllowPlaintext: defineSetting({
    key: 'SMTP_ALLOW_PLAINTEXT',
    description:
      '`true`: login and mail may go to `SMTP_URL` in clear. Otherwise a server that is not on loopback must offer TLS ' +
      '(`smtps:`, or STARTTLS); without it nothing is sent, and the mail is tried again.',
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
    description: 'Messages that one worker process hands to the provider at once.',
    unit: 'messages',
    schema: wholeNumber(1, 10_000),
    default: '16',
    processes: ['relay', 'worker'],
  }),
  mailTimeoutMs: defineSetting({
    key: 'MAIL_TIMEOUT_MS',
    description: 'Time limit of one try to hand a message to the provider.',
    unit: 'ms',
    schema: wholeNumber(1, 600_000),
    default: '30000',
    processes: ['worker'],
  }),
  mailRetryDelaysSeconds: defineSetting({
    key: 'MAIL_RETRY_DELAYS_SECONDS',
    description: 'Pause after each failed try, from its end, fractions allowed. Entries + 1 tries are made.',
    unit: 's',
    schema: delaysSeconds,
    default: '30,60,120,240,480,960,1920',
    processes: ['worker'],
  }),
  awsRegion: defineOptionalSetting({
    key: 'AWS_REGION',
    description:
      'Region of SES; required by `MAIL_PROVIDER=ses`. Credentials, and all else about AWS, are read by its SDK: ' +
      '`AWS_ACCESS_KEY_ID`, a profile, the role of the container or the machine; `AWS_ENDPOINT_URL_SESV2`.',
    schema: awsRegion,
    processes: ['api', 'worker'],
  }),
  sesConfigurationSet: defineOptionalSetting({
    key: 'SES_CONFIGURATION_SET',
    description:
      'Configuration set that every message to SES names: its event destinations report deliveries, opens and ' +
      'clicks. Not set: that of the sending domain, if it has one.',
    schema: sesConfigurationSet,
    processes: ['worker'],
  }),
  domainTimeoutMs: defineSetting({
    key: 'DOMAIN_TIMEOUT_MS',
    description: 'Time limit of one operation on a sending domain at the provider.',
    unit: 'ms',
    schema: wholeNumber(1, 600_000),
    default: '10000',
    processes: ['api'],
  }),
  domainsPerAccountMax: defineSetting({
    key: 'DOMAINS_PER_ACCOUNT_MAX',
    description:
      'How many sending domains an account may have; `postrider account limit` sets another number for one account. SES ' +
      'keeps 10,000 identities in a region, for all accounts together.',
    unit: 'domains',
    schema: wholeNumber(0, 10_000),
    default: '100',
    processes: ['api'],
  }),
  unverifiedDomainsPerAccountMax: defineSetting({
    key: 'UNVERIFIED_DOMAINS_PER_ACCOUNT_MAX',
    description:
      'How many sending domains an account may have that are not verified; `postrider account limit` sets another number ' +
      'for one account.',
    unit: 'domains',
    schema: wholeNumber(0, 10_000),
    default: '10',
    processes: ['api'],
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
      'Where the world reaches the API. Mail about a topic carries links under `<PUBLIC_URL>/u/`, for unsubscribing with ' +
      'one click; not set: it carries none. Links to attachments are under `<PUBLIC_URL>/links/`; not set: under the host ' +
      'that the request was sent to, with `http`.',
    schema: httpsBaseUrl,
    processes: ['api', 'worker'],
  }),
  snsTopicArns: defineSetting({
    key: 'SNS_TOPIC_ARNS',
    description:
      'SNS topics whose notifications are believed, comma-separated. Empty: every notification is refused.',
    schema: topicArns,
    default: '',
    processes: ['api'],
  }),
  snsAllowSha1: defineSetting({
    key: 'SNS_ALLOW_SHA1',
    description:
      'Whether notifications with signature version 1, which is SHA-1, are believed. Give the topic the attribute ' +
      '`SignatureVersion` 2 instead.',
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
