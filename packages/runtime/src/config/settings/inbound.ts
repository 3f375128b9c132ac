import {
  blobLocation,
  bucketNames,
  domainNames,
  filePath,
  hostName,
  hostPort,
  hostPortOrSocket,
  ipPorts,
  localParts,
  oneOf,
  port,
  spamScore,
  trueOrFalse,
} from '../schemas.ts';
import { defineOptionalSetting, defineSetting } from '../setting.ts';

/** Inbound mail: SMTP, screening and the blob store. */
export const inboundSettings = {
  inboundDomains: defineOptionalSetting({
    key: 'INBOUND_DOMAINS',
    description:
      'Domains on which every account may have inboxes, comma-separated. Not set: `inbound.postrider.example` with the ' +
      'sandbox, none with another mail provider.',
    schema: domainNames,
    processes: ['api', 'inbound'],
  }),
  inboundReservedNames: defineSetting({
    key: 'INBOUND_RESERVED_NAMES',
    description:
      'Local parts that no account may have on these domains, comma-separated, in lower case. Those in docs/inbound.md are ' +
      'always reserved.',
    schema: localParts,
    default: '',
    processes: ['api'],
  }),
  inboundSmtpHost: defineSetting({
    key: 'INBOUND_SMTP_HOST',
    description: 'Address that the SMTP server listens on.',
    schema: hostName,
    default: '127.0.0.1',
    processes: ['inbound'],
  }),
  inboundSmtpPort: defineSetting({
    key: 'INBOUND_SMTP_PORT',
    description: 'Its port. 0 means any free port; the log line at start names it.',
    schema: port,
    default: '2525',
    processes: ['inbound'],
  }),
  inboundProtocol: defineSetting({
    key: 'INBOUND_PROTOCOL',
    description:
      '`smtp` from the Internet, or `lmtp` from a mail server of your own: then SPF is not checked, because only that server knows the sender’s address.',
    schema: oneOf('smtp', 'lmtp'),
    default: 'smtp',
    processes: ['inbound'],
  }),
  inboundHostname: defineOptionalSetting({
    key: 'INBOUND_HOSTNAME',
    description: 'Name in the greeting and in the `Received` header. Not set: the name of the machine.',
    schema: hostName,
    processes: ['inbound'],
  }),
  inboundTlsCertFile: defineOptionalSetting({
    key: 'INBOUND_TLS_CERT_FILE',
    description: 'PEM file with the certificate for STARTTLS, read again on SIGHUP. Not set: no STARTTLS.',
    schema: filePath,
    processes: ['inbound'],
  }),
  inboundTlsKeyFile: defineOptionalSetting({
    key: 'INBOUND_TLS_KEY_FILE',
    description: 'PEM file with its key.',
    schema: filePath,
    processes: ['inbound'],
  }),
  dnsServers: defineSetting({
    key: 'DNS_SERVERS',
    description:
      'Name servers for SPF, DKIM and DMARC, by IP address and port, comma-separated: `127.0.0.1:53`, `[::1]:53`. ' +
      'Empty: the name servers of the system.',
    schema: ipPorts,
    default: '',
    processes: ['inbound'],
  }),
  inboundClamd: defineOptionalSetting({
    key: 'INBOUND_CLAMD',
    description: 'clamd, `host:port` or `unix:/path`. Not set: mail is not checked for viruses.',
    schema: hostPortOrSocket,
    processes: ['inbound'],
  }),
  inboundRspamd: defineOptionalSetting({
    key: 'INBOUND_RSPAMD',
    description: 'rspamd’s worker, `host:port`. Not set: mail is not checked for spam.',
    schema: hostPort,
    processes: ['inbound'],
  }),
  inboundSpamThreshold: defineOptionalSetting({
    key: 'INBOUND_SPAM_THRESHOLD',
    description: 'A message is held when rspamd’s score is over it. Not set: rspamd’s own action decides.',
    schema: spamScore,
    processes: ['inbound'],
  }),
  inboundScreeningRequired: defineSetting({
    key: 'INBOUND_SCREENING_REQUIRED',
    description:
      '`true`: while clamd or rspamd is away, mail is answered with 451, so its sender tries again. `false`: it is ' +
      'accepted without the check.',
    schema: trueOrFalse,
    default: 'true',
    processes: ['inbound'],
  }),
  inboundS3Buckets: defineSetting({
    key: 'INBOUND_S3_BUCKETS',
    description:
      'S3 buckets in which SES may store received mail, comma-separated. Empty: a notification that names a bucket ' +
      'is refused. Inbound processes read them with the credentials of the AWS SDK, in `AWS_REGION`.',
    schema: bucketNames,
    default: '',
    processes: ['api'],
  }),
  blobStore: defineSetting({
    key: 'BLOB_STORE',
    description:
      'Store for the bytes of received mail: `file:` and a folder, or `s3://bucket/prefix`. All API and inbound ' +
      'processes of an installation must use the same store, and no other installation: a sweep deletes what its ' +
      'database does not name. For S3, here or in `INBOUND_S3_BUCKETS`, also set `AWS_REGION`: the AWS SDK reads it.',
    schema: blobLocation,
    default: 'file:.data/blobs',
    processes: ['api', 'inbound'],
  }),
};
