import { expect, test } from '@jest/globals';
import { cutHeader, readAuthors } from '@postrider/received-mail';
import { parseMessage } from '../../../received-mail/test/parse-message.ts';
import { runs } from '@postrider/testing';
import fc from 'fast-check';
import { authorDomains } from './author-domains.ts';

/** Addresses that parsers read differently. */
const PIECES = [
  ...[
    'ann@a.example',
    'bob@b.example',
    'Carl@C.EXAMPLE',
    'd@bücher.example',
    '"a b"@q.example',
    'x@[127.0.0.1]',
    'y@ f.example',
    'z@xn--zzzz.g.example',
  ],
  ...[
    '<',
    '>',
    '"',
    '\\',
    '(',
    ')',
    '[',
    ']',
    ',',
    ';',
    ':',
    '@',
    ' ',
    '\t',
    '\r\n ',
    '\r',
    '\0',
    '\u000b',
    'é',
  ],
  ...[
    'Ann',
    'group',
    '=?utf-8?q?=3Ce=40e.example=3E?=',
    '=?utf-8?b?PGZAZi5leGFtcGxlPg==?=',
    '@r.example,@s.example:',
  ],
];
/** Names with more blanks before the colon than any limit on the length of a name. */
const FAR_COLON = `From${' \t'.repeat(500)}: `;
const LINES = [
  ...['\r\nFrom: ', '\r\nfrom : ', '\nFROM:', '\r\nX-From: ', '\r\n\r\nFrom: ', '\r\nFrom\t:'],
  `\r\n${FAR_COLON}`,
];
const START = ['From: ', '\ufeffFrom: ', 'Subject: Hi\r\nFrom: ', ' From: ', '\r\nFrom: ', FAR_COLON];

const header = fc
  .tuple(
    fc.constantFrom(...START),
    fc.array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, fc.constantFrom(...LINES)), {
      maxLength: 12,
    }),
  )
  .map(([start, pieces]) => `${start}${pieces.join('')}\r\n\r\nHello\r\n`);

/** The domain that a reader would answer to, without spaces. Only a DNS name can have a policy. */
function domainsShown(addresses: readonly string[]): string[] {
  return addresses
    .map((address) => address.slice(address.lastIndexOf('@') + 1).replaceAll(/\s/g, ''))
    .filter(isDomainName);
}

function isDomainName(text: string): boolean {
  return /^(?:[a-z0-9-]+\.)+[a-z0-9-]+$/.test(text);
}

const MESSAGES = runs({ usual: 3_000, long: 100_000 });

test('DMARC judges the domain of every sender that a record shows', async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(header, async (text) => {
      const raw = Buffer.from(text);
      const { bytes, headerBytes } = cutHeader(raw);
      const judged = authorDomains(await readAuthors(bytes.subarray(0, headerBytes)));
      const { fromAddresses } = await parseMessage(raw);
      if (judged === null || fromAddresses === null) return;
      compared += 1;
      expect(judged).toEqual(expect.arrayContaining(domainsShown(fromAddresses)));
    }),
    { numRuns: MESSAGES },
  );
  // Measured: 10 %. Two readers seldom agree on such headers.
  expect(compared).toBeGreaterThan(0.05 * MESSAGES);
});
