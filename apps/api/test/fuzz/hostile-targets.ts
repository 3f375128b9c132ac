import fc from 'fast-check';
import { MARK } from './route-contract.ts';
import type { RouteContract } from './route-contract.ts';

/** Pieces of a request target that some part of a stack is known to stumble over. */
const PIECES = [
  '/',
  '//',
  '\\',
  '.',
  '..',
  '/../',
  '/./',
  '%2e%2e/',
  '%2F',
  '%5c',
  '%00',
  '%0d%0aX-Injected:1',
  '%ff',
  '%c0%ae',
  '%E0%A4%A',
  '%ED%A0%80',
  '%',
  '%zz',
  '%u0041',
  '?',
  '??',
  '#',
  ';a=b',
  ':',
  '@',
  '*',
  '[',
  '{',
  '|',
  '(',
  '~',
  '$1',
  '\xe9',
  '\xff',
  '\x7f',
  '%C2%A0',
  '__proto__',
  'constructor',
  'v1',
  'V1',
  'webhooks',
  'dead-letters',
  'replay',
  'domains',
  'suppressions',
  'topics',
  'u',
  'emails',
  'batch',
  'rotate',
  'healthz',
  'metrics',
  'wh_01arz3ndektsv4rrffq69g5fav',
  'dl_01arz3ndektsv4rrffq69g5fav',
  'em_01arz3ndektsv4rrffq69g5fav',
  'dom_01arz3ndektsv4rrffq69g5fav',
  'sup_01arz3ndektsv4rrffq69g5fav',
  'top_01arz3ndektsv4rrffq69g5fav',
  'ibx_01arz3ndektsv4rrffq69g5fav',
  'msg_01arz3ndektsv4rrffq69g5fav',
  'att_01arz3ndektsv4rrffq69g5fav',
  'inboxes',
  'inbound',
  'messages',
  'attachments',
  'raw',
  'release',
  'links',
  'rt_01arz3ndektsv4rrffq69g5fav',
  'bs_01arz3ndektsv4rrffq69g5fav',
  'routes',
  'blocked-senders',
  'bob%40b.example',
  'em_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  'wh_81arz3ndektsv4rrffq69g5fav',
  'x'.repeat(10_000),
  '/a'.repeat(2_000),
  '%41'.repeat(1_000),
];

const FORMS = ['http://a.test', 'https://u:p@[::1]:99999', 'http://[', 'http:', 'ftp://a', '//a.test', ''];

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'M-SEARCH',
  'PURGE',
  'REPORT',
];

export const methods = fc.constantFrom(...METHODS);

/** Any target from the paths of the routes and pieces that do not belong there. */
export function targets(paths: readonly string[]): fc.Arbitrary<string> {
  const parts = fc.array(fc.constantFrom(...PIECES), { maxLength: 4 });
  return fc
    .tuple(fc.constantFrom(...FORMS, '', '', ''), fc.constantFrom(...paths, '/v1', ''), fc.nat(60), parts)
    .map(([form, path, at, pieces]) => {
      const cut = at % (path.length + 1);
      const target = `${form}${path.slice(0, cut)}${pieces.join('')}${path.slice(cut)}`;
      return target === '' ? '*' : target;
    });
}

/** Of all that may stand behind `?`, what is wrong on a route that answers in pages. */
export const BAD_PAGE = '?limit=-1&after=%27';

/** What may stand behind `?` and changes nothing, but for a bad page where there are pages. */
export const queries = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '?',
      `?${MARK}[b][c]=1&a[b]=2`,
      '?__proto__[x]=1',
      '?%zz&%00=%ff',
      BAD_PAGE,
      '?/../..',
      `?${'a=1&'.repeat(500)}`,
    ),
  },
);

/** What stands in place of a parameter's value. */
const ODD_VALUES = fc.oneof(
  fc.constantFrom('', '%00', '%ff', '%E0%A4%A', '%ED%A0%80', '0', '-1', '1e1', '101', '%2B1', '__proto__'),
  fc.string({ unit: 'grapheme' }).map(encodeURIComponent),
);

/** Queries of a route's own parameters, with values that are accepted and others. */
export function queriesOf(parameters: Readonly<Record<string, readonly string[]>>): fc.Arbitrary<string> {
  const pairs = Object.entries(parameters).map(([name, accepted]) =>
    fc.oneof(ODD_VALUES, fc.constantFrom('', ...accepted)).map((value) => `${name}=${value}`),
  );
  return fc.array(fc.oneof(...pairs), { minLength: 1, maxLength: 4 }).map((chosen) => `?${chosen.join('&')}`);
}

/**
 * Whether a query has the required parameters, and all that it has of the parameters is accepted. What else is in it
 * counts where the route is strict.
 */
export function isAccepted(
  query: string,
  { parameters = {}, strictQuery, query: required }: Omit<RouteContract, 'judge'>,
): boolean {
  const given = new URLSearchParams(query);
  if ([...new URLSearchParams(required).keys()].some((name) => !given.has(name))) return false;
  if (strictQuery === true && [...given.keys()].some((name) => !Object.hasOwn(parameters, name)))
    return false;
  return Object.entries(parameters).every(([name, accepted]) => {
    const values = given.getAll(name);
    return values.length === 0 || (values.length === 1 && accepted.includes(values[0] ?? ''));
  });
}

/** What stands in place of an id and is none. Some of it is not even one segment of a path. */
export const ODD_IDS = PIECES.filter((piece) => piece.length < 5_000 && !/[\x7f-\xff]/.test(piece));

export const oddIds = fc.oneof(
  fc.constantFrom(...ODD_IDS),
  fc.string({ unit: 'grapheme' }).map(encodeURIComponent),
  fc
    .string({ unit: fc.constantFrom(...'0123456789abcdefghjkmnpqrstvwxyzILOU%2-_'.split('')), maxLength: 40 })
    .map((text) => `em_${text}`),
);
