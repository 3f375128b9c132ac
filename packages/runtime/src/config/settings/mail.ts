import {
  awsRegion,
  delaysSeconds,
  filePath,
  httpsBaseUrl,
  oneOf,
  sesConfigurationSet,
  topicArns,
  urlOf,
  wholeNumber,
} from '../schemas.ts';
import { defineOptionalSetting, defineSetting } from '../setting.ts';

/** Mail: who takes it, how often it is tried, and who may report on it. */
export const mailSettings = {
  mailProvider: defineSetting({
    key: 'MAIL_PROVIDER',
    description:
      'Who takes the mail: `sandbox` keeps it in a folder, `smtp` hands it to `SMTP_URL`, `ses` to Amazon SES in ' +
      '`AWS_REGION`. Sending domains exist with `ses` only.',
    schema: oneOf('sandbox', 'smtp', 'ses'),
    default: 'sandbox',
    processes: ['api', 'worker'],
  }),
  smtpUrl: defineOptionalSetting({
    key: 'SMTP_URL',
    description:
      'The server for `MAIL_PROVIDER=smtp`, as nodemailer reads it: `smtp://user:password@host:587`.',
    schema: urlOf('smtp', 'smtps'),
    secret: 'password',
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
  publicUrl: defineOptionalSetting({
    key: 'PUBLIC_URL',
    description:
      'Where recipients of mail reach the API: mail about a topic carries links under `<PUBLIC_URL>/u/`, for ' +
      'unsubscribing with one click. Not set: such mail carries none.',
    schema: httpsBaseUrl,
    processes: ['worker'],
  }),
  snsTopicArns: defineSetting({
    key: 'SNS_TOPIC_ARNS',
    description:
      'SNS topics whose notifications are believed, comma-separated. Empty: every notification is refused.',
    schema: topicArns,
    default: '',
    processes: ['api'],
  }),
  snsSigningCertFile: defineOptionalSetting({
    key: 'SNS_SIGNING_CERT_FILE',
    description:
      'PEM file used in place of the certificate that a notification names. For development only: refused when ' +
      '`NODE_ENV=production`.',
    schema: filePath,
    processes: ['api'],
  }),
};
