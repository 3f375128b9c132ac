import { expect } from '@jest/globals';
import { PROBLEMS } from '@postrider/domain';
import { BASES } from '../start-api.ts';
import { checkEqual, checkMatch, checkNoMatch, checkOneOf } from './check.ts';
import type { RawAnswer } from './read-answers.ts';

/**
 * What an answer is, in a word: `201 json`, `200 metrics`, `200 page`, `206 file`, `422 text`, `404 not-found` by its slug, or `bare 400` for
 * what never became a request.
 */
export interface Verdict {
  readonly kind: string;
  readonly requestId: string;
  /** Whether the connection takes another request. */
  readonly goesOn: boolean;
  /** The JSON of the answer; null where it has none. */
  readonly document: Readonly<Record<string, unknown>> | null;
}

const BARE = [
  'Bad Request',
  'Not Found',
  'Payload Too Large',
  'Request Header Fields Too Large',
  'Request Timeout',
];
const HEADERS = [
  'accept-ranges',
  'cache-control',
  'connection',
  'content-disposition',
  'content-length',
  'content-range',
  'content-security-policy',
  'content-type',
  'date',
  'keep-alive',
  'referrer-policy',
  'transfer-encoding',
  'www-authenticate',
  'x-content-type-options',
  'x-request-id',
  'x-robots-tag',
];
/** What would tell of the inside: stacks, statements, drivers, places on a disk. */
const INSIDE =
  /node_modules|\.[jt]s:\d|\n? {2,}at [\w<]|prisma|postgres|sqlstate|econn|insert into|syntax error at|violates|undefined is not|cannot read prop|pr_(?:live|test)_[\w-]{43}/i;

/** `/readyz` names its parts to everybody. */
const READY = '"parts":{"postgres":"ok"';

/**
 * Asserts what holds of every answer to whatever request (contract 7), and names the answer.
 *
 * @param excused the statuses from 500 on that are not ours: of a provider that fails.
 */
export function judgeAnswer(answer: RawAnswer, method: string, excused: readonly number[] = []): Verdict {
  const header = (name: string): string | undefined => answer.headers.get(name)?.join();
  if (answer.status >= 500 && !excused.includes(answer.status)) {
    throw new Error(`answered ${answer.status}: ${answer.body.toString()}`);
  }
  for (const name of answer.headers.keys()) checkOneOf(HEADERS, name);
  checkMatch(header('x-request-id'), /^req_[0-9a-f]{32}$/);
  checkEqual(header('cache-control'), 'no-store');
  checkEqual(header('x-content-type-options'), 'nosniff');
  checkEqual(header('www-authenticate'), answer.status === 401 ? 'Bearer' : undefined);
  const text = new TextDecoder('utf-8', { fatal: true }).decode(answer.body);
  const mediaType = header('content-type') ?? '';
  const named =
    header('content-disposition') === undefined
      ? nameAnswer(answer.status, mediaType, text, method === 'HEAD')
      : nameFile(answer.status, mediaType);
  if (!named.kind.endsWith('metrics')) checkNoMatch(text.replace(READY, ''), INSIDE);
  const requestId = header('x-request-id') ?? '';
  if (named.document?.['type'] !== undefined && answer.status >= 400) {
    judgeProblem(named.document, requestId);
  }
  const goesOn = header('connection')?.toLowerCase() !== 'close';
  if (named.kind.startsWith('bare')) checkEqual(goesOn, false);
  return { ...named, requestId, goesOn };
}

/** To a HEAD there is no body to know the slug by: any of that status and media type. */
export function looksLike(kind: string, verdict: Verdict): boolean {
  const [status, what = ''] = kind.split(' ');
  const family = what in PROBLEMS ? 'problem' : what;
  return verdict.kind === kind || verdict.kind === `${status} ${family}`;
}

function nameAnswer(
  status: number,
  mediaType: string,
  text: string,
  toHead: boolean,
): Pick<Verdict, 'kind' | 'document'> {
  switch (mediaType) {
    case 'application/json': {
      checkOneOf([200, 201, 202], status);
      return { kind: `${status} json`, document: toHead ? null : documentOf(text) };
    }
    case 'application/problem+json': {
      if (toHead) return { kind: `${status} problem`, document: null };
      const document = documentOf(text);
      checkEqual(document['status'], status);
      return { kind: `${status} ${String(document['type']).split('/').at(-1)}`, document };
    }
    case 'text/plain; charset=utf-8': {
      if (BARE.includes(text)) return { kind: `bare ${status}`, document: null };
      if (!toHead) checkMatch(text, /^The request body [ -~]{10,150}\.$/);
      return { kind: `${status} text`, document: null };
    }
    case 'text/plain; version=0.0.4; charset=utf-8':
      return { kind: `${status} metrics`, document: null };
    case 'text/html; charset=utf-8':
      return { kind: `${status} page`, document: null };
    default:
      throw new Error(`${status} with the media type "${mediaType}": ${text}`);
  }
}

const FILES = ['message/rfc822', 'text/plain; charset=utf-8', 'text/html; charset=utf-8'];

function nameFile(status: number, mediaType: string): Pick<Verdict, 'kind' | 'document'> {
  checkOneOf(FILES, mediaType);
  return { kind: `${status} file`, document: null };
}

function documentOf(text: string): Readonly<Record<string, unknown>> {
  const document = JSON.parse(text) as unknown;
  if (document === null) expect(document).toEqual(expect.any(Object));
  checkEqual(typeof document, 'object');
  return document as Readonly<Record<string, unknown>>;
}

/** Contract 7.1, member by member. */
function judgeProblem(document: Readonly<Record<string, unknown>>, requestId: string): void {
  const { type, title, status, instance, detail, errors, name, message, statusCode, ...more } = document;
  checkEqual(Object.keys(more).join(), '');
  const slug = String(type).split('/').at(-1) ?? '';
  checkEqual(name, slug.replaceAll('-', '_'));
  checkEqual(message, detail ?? title);
  checkEqual(statusCode, status);
  const known = Object.entries(PROBLEMS).find(([name]) => name === slug)?.[1];
  if (known === undefined) throw new Error(`no such problem: ${String(type)}`);
  checkEqual(type, `${BASES[known.family]}/${slug}`);
  const statuses: unknown[] = 'alsoStatus' in known ? [known.status, known.alsoStatus] : [known.status];
  checkOneOf(statuses, status);
  checkEqual(title, known.title);
  checkEqual(instance, requestId);
  // One line that a terminal can show.
  checkMatch(detail, /^[^\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]{10,500}$/);
  if (slug === 'not-found') checkMatch(detail, /^There is no such [a-z ]+\.$/);
  if (errors === undefined) return;
  checkEqual(slug, 'validation-failed');
  expect(errors).toEqual(
    expect.arrayContaining([{ field: expect.any(String), message: expect.any(String) }]),
  );
}
