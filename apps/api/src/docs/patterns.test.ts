import { describe, expect, test } from '@jest/globals';
import {
  ADDRESS_LENGTH,
  DOMAIN_LENGTH,
  emailRequest,
  inboundAddress,
  isMediaType,
  LIMITS,
  mailDomain,
  parseDomainName,
  parseEmailAddress,
  parseEndpoint,
  parseInboundMatch,
  parseIsoMoment,
  parseIsoTime,
  PATTERNS,
  plainAddress,
  requestedEmail,
  senderPattern,
  webhookHeaderFault,
  webhookHeadersSchema,
} from '@postrider/domain';
import { runs } from '@postrider/testing';
import fc from 'fast-check';
import { drawnText } from '../../test/document/drawn-texts.ts';

/* Every text that a pattern of the document matches is one that the API accepts. */

const RUNS = runs({ usual: 300, long: 20_000 });
const LINE = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: '' };

const acceptsMail = (more: object): boolean => requestedEmail({ ...LINE, ...more }).parse.ok;
const acceptsFile = (more: object): boolean =>
  acceptsMail({ attachments: [{ filename: 'a', content: '', ...more }] });

const address = { maxLength: ADDRESS_LENGTH };
const mailHeaders = emailRequest.shape.headers.meta() as {
  readonly propertyNames: { readonly pattern: string };
};

test.each<[string, { readonly pattern: string; readonly maxLength?: number }, (text: string) => boolean]>([
  ['address', { ...address, pattern: PATTERNS.address }, (text) => parseEmailAddress(text) !== null],
  ['plainAddress', { ...address, pattern: PATTERNS.plainAddress }, (text) => plainAddress(text) !== null],
  [
    'inboundAddress',
    { ...address, pattern: PATTERNS.inboundAddress },
    (text) => inboundAddress(text) !== null,
  ],
  ['inboundName', { pattern: PATTERNS.inboundName }, (text) => inboundAddress(`${text}@a.example`) !== null],
  [
    'inboundMatch',
    { ...address, pattern: PATTERNS.inboundMatch },
    (text) => parseInboundMatch(text) !== null,
  ],
  ['sender', { pattern: PATTERNS.sender }, (text) => senderPattern(text) !== null],
  [
    'mailDomain',
    { pattern: PATTERNS.mailDomain, maxLength: DOMAIN_LENGTH },
    (text) => mailDomain(text) !== null,
  ],
  [
    'domain',
    { pattern: PATTERNS.domain, maxLength: DOMAIN_LENGTH },
    (text) => [true, 'is a public suffix'].includes(faultOf(parseDomainName(text))),
  ],
  [
    'endpoint',
    { pattern: PATTERNS.endpoint, maxLength: LIMITS.endpointLength },
    (text) => parseEndpoint(text).ok,
  ],
  ['isoTime', { pattern: PATTERNS.isoTime }, (text) => parseIsoTime(text) !== null],
  ['isoMoment', { pattern: PATTERNS.isoMoment }, (text) => parseIsoMoment(text) !== null],
  ['mediaType', { pattern: PATTERNS.mediaType, maxLength: 255 }, isMediaType],
  ['base64', { pattern: PATTERNS.base64 }, (text) => acceptsFile({ content: text })],
  [
    'line, in a subject',
    { pattern: PATTERNS.line, maxLength: LIMITS.headerLength },
    (text) => acceptsMail({ subject: text }),
  ],
  [
    'shownLine, in a filename',
    { pattern: PATTERNS.shownLine, maxLength: LIMITS.filenameLength },
    (text) => acceptsFile({ filename: text }),
  ],
  [
    'shownLine, in a header',
    { pattern: PATTERNS.shownLine, maxLength: LIMITS.headerLength },
    (text) => acceptsMail({ headers: { 'X-A': text } }),
  ],
  ['text', { pattern: PATTERNS.text }, (text) => acceptsMail({ text })],
  [
    'the name of a header of a message',
    mailHeaders.propertyNames,
    (text) => acceptsMail({ headers: { [text]: 'a' } }),
  ],
  [
    'the name of a header of a webhook',
    webhookHeadersSchema.propertyNames,
    (text) => webhookHeaderFault({ [text]: 'a' }, 'Service') === null,
  ],
  [
    'the value of a header of a webhook',
    webhookHeadersSchema.additionalProperties,
    (text) => webhookHeaderFault({ 'X-A': text }, 'Service') === null,
  ],
])('%s: each text that the pattern matches is accepted', (_, schema, accepts) => {
  fc.assert(
    fc.property(drawnText(schema), (text) =>
      expect({ text, accepted: accepts(text) }).toEqual({ text, accepted: true }),
    ),
    { numRuns: RUNS },
  );
});

function faultOf(parsed: ReturnType<typeof parseDomainName>): true | string {
  return parsed.ok ? true : parsed.fault;
}

describe('ordinary texts match', () => {
  test.each<[keyof typeof PATTERNS, readonly string[]]>([
    [
      'address',
      [
        'ann@example.net',
        'a.b+tag@mail.example.co.uk',
        'Ann <ann@example.net>',
        '"Ann, of the shop" <ann@example.net>',
        'Jürgen Müller <jm@example.net>',
        '<ann@example.net>',
        'Doe, Ann @ home <ann@example.net>',
        'a..b@a_b.example',
        'jürgen@example.net',
      ],
    ],
    ['plainAddress', ['ann@example.net', 'a.b+tag@mail.example', 'a..b@a_b.example']],
    ['inboundAddress', ['support@shop.example', 'Support+tag@shop.example']],
    ['inboundMatch', ['*@shop.example', 'support@shop.example']],
    ['sender', ['spam.example', 'a@spam.example']],
    ['domain', ['shop.example.com', 'xn--bcher-kva.example']],
    [
      'endpoint',
      [
        'https://shop.example.com',
        'https://shop.example.com/hooks?token=a%20b&x=1#y',
        'https://localhost:3000/',
        'https://203.0.113.7:8443/a',
        'HTTPS://a-b.shop.example/(x)',
      ],
    ],
    ['isoTime', ['2026-11-20T22:00:00Z', '2028-02-29T22:00:00.123+02:00']],
    ['isoMoment', ['2026-11-20', '2026-11-20T22:00:00.123Z']],
    ['mediaType', ['text/plain', 'text/plain; charset=utf-8', 'application/vnd.api+json']],
    ['base64', ['', 'aGk=', 'VGhhbmsgeW91Lg==']],
  ])('%s', (name, texts) => {
    const pattern = new RegExp(PATTERNS[name], 'u');
    expect(texts.filter((text) => !pattern.test(text))).toEqual([]);
  });
});

test('a header name is reserved in any case', () => {
  const pattern = new RegExp(mailHeaders.propertyNames.pattern, 'u');
  const reserved = ['From', 'FROM', 'x-ses-anything', 'X-SES-', 'Content-Type', '__proto__', 'x y', ''];
  expect(reserved.filter((name) => pattern.test(name))).toEqual([]);
  expect(
    ['X-From', 'Fromage', 'List-Unsubscribe', 'In-Reply-To'].filter((name) => !pattern.test(name)),
  ).toEqual([]);
});
