import { isIP } from 'node:net';
import {
  asciiDomain,
  awsPartitionOf,
  BLOB_LOCATIONS,
  isBucketName,
  parseBlobLocation,
  parseEmailAddress,
  parseUrl,
} from '@postrider/domain';
import { z } from 'zod';
import { ROLES, type Role } from './setting.ts';

const WHOLE_NUMBER = /^\d+$/;
const PREFIX_LENGTH = /^(0|[1-9]\d*)$/; // some parsers read a leading zero as octal
const DECIMAL_NUMBER = /^\d+(\.\d+)?$/;
// RFC 9110, section 5.6.2.
const HTTP_TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const BASE64_32_BYTES = /^[A-Za-z0-9+/_-]{43}=?$/;
const TOPIC_ARN = /^arn:([\w-]+):sns:([\w-]+):\d{12}:[\w.-]{1,260}$/;

/** A schema with one error message. The loader puts the key before it: `PORT must be …`. */
function textThat(message: string, test: (value: string) => boolean) {
  return z.string().refine(test, { error: message });
}

/** Accepts decimal digits only. Refuses `1e9`, `0x10`, `-1`, `+5` and `5.0`. */
export function wholeNumber(min: number, max: number) {
  return textThat(`must be a whole number from ${min} to ${max}`, (value) => {
    return WHOLE_NUMBER.test(value) && Number(value) >= min && Number(value) <= max;
  }).transform(Number);
}

const MINUTES_MAX = 10_080; // a week

export const minutes = textThat(
  `must be a number from 0 to ${MINUTES_MAX}, fractions allowed`,
  (value) => DECIMAL_NUMBER.test(value) && Number(value) <= MINUTES_MAX,
).transform(Number);

/** Port 0 means any free port. */
export const port = wholeNumber(0, 65_535);

export const hostName = textThat('must be a host name or an IP address', (value) => /^[^\s/]+$/.test(value));

export const filePath = textThat('must be a path', (value) => !value.includes('\0'));

export const freeText = z.string();

/** An e-mail address, with or without a name. */
export const mailbox = textThat(
  'must be an e-mail address, with or without a name',
  (value) => parseEmailAddress(value) !== null,
);

/** A space would need quotes in a file of variables. */
export const secretText = textThat('must be 32 to 256 characters of ASCII without spaces', (value) =>
  /^[!-~]{32,256}$/.test(value),
);

/** Reads `a, b` as `['a', 'b']` and an empty text as an empty list. Refuses an empty entry. */
function listOf<Value>(message: string, test: (entry: string) => boolean, read: (entry: string) => Value) {
  return z
    .string()
    .transform((value) => (value === '' ? [] : value.split(',').map((entry) => entry.trim())))
    .refine((entries) => entries.every(test), { error: message })
    .transform((entries): readonly Value[] => entries.map(read));
}

const DELAY_MAX_SECONDS = 2_592_000; // 30 days
const DELAYS_MAX = 100;

/** One or more delays in seconds; fractions are allowed. */
export const delaysSeconds = listOf(
  `must be a comma-separated list of seconds, each from 0 to ${DELAY_MAX_SECONDS}, fractions allowed`,
  (entry) => DECIMAL_NUMBER.test(entry) && Number(entry) <= DELAY_MAX_SECONDS,
  Number,
).refine((delays) => delays.length <= DELAYS_MAX, { error: `must have at most ${DELAYS_MAX} entries` });

export const secretKeys = listOf(
  'must be one or more 32-byte keys in base64, comma-separated (openssl rand -base64 32)',
  (entry) => BASE64_32_BYTES.test(entry),
  (entry) => Buffer.from(entry, 'base64'),
);

function isCidr(value: string): boolean {
  const [address = '', prefix = '', ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || address.includes('%') || !PREFIX_LENGTH.test(prefix)) return false;
  return Number(prefix) <= (version === 4 ? 32 : 128);
}

/** `name:role:digest`, the digest as the SHA-256 of the key in hexadecimal. */
const CONSOLE_KEY = /^([a-z0-9][\w.-]{0,39}):(operator|reader):([0-9a-f]{64})$/;

function consoleKey(entry: string) {
  const [, name = '', role = '', digest = ''] = CONSOLE_KEY.exec(entry) ?? [];
  return { name, role: role as 'operator' | 'reader', digest: Buffer.from(digest, 'hex') };
}

export const consoleKeys = listOf(
  'must be a comma-separated list of name:role:sha256, the role operator or reader, the SHA-256 in lower-case hexadecimal',
  (entry) => CONSOLE_KEY.test(entry),
  consoleKey,
).refine((keys) => new Set(keys.map(({ name }) => name)).size === keys.length, {
  error: 'must have each name once',
});

export const networks = listOf(
  'must be a comma-separated list of networks such as 127.0.0.1/32 or fd00::/8',
  isCidr,
  String,
);

export const domainNames = listOf(
  'must be a comma-separated list of domain names in lower case and ASCII',
  (entry) => asciiDomain(entry) === entry,
  String,
);

export const localParts = listOf(
  'must be a comma-separated list of local parts of addresses in lower case',
  (entry) => /^[a-z0-9.!#$%&'*/=?^_`{|}~-]{1,64}$/.test(entry),
  String,
);

/** `rspamd:11333`, `127.0.0.1:53`, `[::1]:53`. */
const HOST_PORT = /^(?:\[([0-9a-fA-F:]+)\]|([^\s/:[\]]+)):(\d{1,5})$/;

/** @returns null when `value` is not `host:port`, or the port is not from 1 to 65535. */
function parseHostPort(value: string) {
  const [, ipv6, host = ipv6, digits] = HOST_PORT.exec(value) ?? [];
  const port = Number(digits);
  return host !== undefined && port >= 1 && port <= 65_535 ? { host, port } : null;
}

/** Name servers by IP address. A host name would need a name server to look it up. */
export const ipPorts = listOf(
  'must be a comma-separated list of address:port, each address an IP address',
  (entry) => isIP(parseHostPort(entry)?.host ?? '') !== 0,
  String,
);

/** Reads the text into an object that `net.connect` takes. */
function target<Target>(message: string, parse: (value: string) => Target | null) {
  return textThat(message, (value) => parse(value) !== null).transform((value) => parse(value) as Target);
}

export const hostPort = target('must be host:port', parseHostPort);

export const hostPortOrSocket = target('must be host:port or unix:/path', (value) => {
  const path = /^unix:(\/[^\0]+)$/.exec(value)?.[1];
  return path === undefined ? parseHostPort(value) : { path };
});

export const spamScore = textThat('must be 0 or a positive number, fractions allowed', (value) =>
  DECIMAL_NUMBER.test(value),
).transform(Number);

export const blobLocation = textThat(
  `must be ${BLOB_LOCATIONS}`,
  (value) => parseBlobLocation(value) !== null,
);

export const bucketNames = listOf('must be a comma-separated list of S3 buckets', isBucketName, String);

export const topicArns = listOf(
  'must be a comma-separated list of SNS topic ARNs in regions of AWS',
  (entry) => {
    const [, partition, region] = TOPIC_ARN.exec(entry) ?? [];
    return region !== undefined && awsPartitionOf(region)?.id === partition;
  },
  String,
);

export const awsRegion = textThat(
  'must be an AWS region such as eu-central-1',
  (value) => awsPartitionOf(value) !== undefined,
);

export const sesConfigurationSet = textThat(
  'must be letters, digits, dashes and underscores, 64 at most',
  (value) => /^[\w-]{1,64}$/.test(value),
);

export const httpToken = textThat('must be an HTTP token (letters, digits and dashes)', (value) =>
  HTTP_TOKEN.test(value),
);

/** No colon: BullMQ puts one after the prefix. */
export const queuePrefix = textThat('must be letters, digits, dashes, underscores or braces', (value) => {
  return /^[\w{}-]+$/.test(value);
});

/** `postgres://user@/db?host=/socket` has no host. The driver accepts it, but `new URL` does not. */
export function parseServerUrl(text: string): URL | null {
  return parseUrl(text.replace(/^(postgres(?:ql)?:\/\/[^/]*@)\//i, '$1localhost/'));
}

export function urlOf(...schemes: string[]) {
  const starts = schemes.map((scheme) => `${scheme}://`);
  return textThat(`must be a ${starts.join(' or ')} URL`, (value) => {
    const lower = value.toLowerCase();
    const url = starts.some((start) => lower.startsWith(start)) ? parseServerUrl(value) : null;
    return url !== null && (url.hostname !== '' || url.protocol.startsWith('postgres'));
  });
}

function baseUrlOf(...schemes: string[]) {
  return urlOf(...schemes)
    .refine((value) => !/[?#]/.test(value), { error: 'must have neither query nor fragment' })
    .transform((value) => value.replace(/\/+$/, ''));
}

/** A URL to append paths to: without a trailing slash, a query or a fragment. */
export const baseUrl = baseUrlOf('https', 'http');

/** A base URL with `https`. */
export const httpsBaseUrl = baseUrlOf('https');

/** A URL of the operator. An HTTP client refuses one that holds a user name or a password. */
export const trustedUrl = urlOf('https', 'http').refine(
  (value) => {
    const url = parseUrl(value);
    return url === null || (url.username === '' && url.password === '');
  },
  { error: 'must have neither user name nor password' },
);

export const trueOrFalse = textThat(
  'must be true or false',
  (value) => value === 'true' || value === 'false',
).transform((value) => value === 'true');

export function oneOf<const Choice extends string>(...choices: Choice[]) {
  return z.string().refine((value): value is Choice => (choices as string[]).includes(value), {
    error: `must be one of ${choices.join(', ')}`,
  });
}

/** Reads `all` as itself, and any other text as a list of roles without repetitions. */
export const roles = z
  .string()
  .transform((value) => (value === 'all' ? value : value.split(',').map((entry) => entry.trim())))
  .refine(
    (value) => value === 'all' || value.every((entry) => (ROLES as readonly string[]).includes(entry)),
    {
      error: `must be all, or some of ${ROLES.join(', ')}`,
    },
  )
  .transform((value): 'all' | readonly Role[] => (value === 'all' ? value : [...new Set(value as Role[])]));
