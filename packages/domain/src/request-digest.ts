import { createHash } from 'node:crypto';

/**
 * An array or object that is being hashed. A body may have millions of values, so `values` yields one at a
 * time.
 */
interface Container {
  /** The text before the next value: the bracket first, then the separator. */
  before: string;
  readonly between: string;
  readonly values: Iterator<unknown>;
  readonly end: string;
}

/** Characters per update of the hash. An update for each small value would take many times as long. */
const PIECE_LENGTH = 16 * 1024;

/** An attachment may be an array of millions of bytes. From this length on, an array is hashed at once. */
const BYTES_MIN = 1_024;

/** True when each entry is a whole number from 0 to 255. */
export function isBytes(list: readonly unknown[]): list is readonly number[] {
  return list.every((each) => Number.isInteger(each) && (each as number) >= 0 && (each as number) <= 255);
}

/**
 * SHA-256 of a parsed JSON body. The order of members, white space and escapes do not change it.
 *
 * It uses no recursion: a body may nest deeper than the stack allows. It hashes step by step: a body may have
 * 32 MiB. The memory grows with the nesting depth and with the member names of open objects.
 */
export function requestDigest(body: unknown): Buffer {
  const hash = createHash('sha256');
  const open: Container[] = [{ before: '', between: '', values: [body].values(), end: '' }];
  let text = '';
  for (let innermost = open.at(-1); innermost !== undefined; innermost = open.at(-1)) {
    const { done, value } = innermost.values.next() as IteratorResult<unknown, undefined>;
    text += innermost.before;
    innermost.before = innermost.between;
    if (done === true) {
      text += innermost.end;
      open.pop();
    } else if (Array.isArray(value) && value.length >= BYTES_MIN && isBytes(value)) {
      hash.update(`${text}bytes ${value.length}:`, 'utf16le').update(Uint8Array.from(value));
      text = '';
    } else if (typeof value === 'object' && value !== null) {
      open.push(containerOf(value));
    } else {
      // `String`, not JSON: `JSON.parse` reads 1e999 as Infinity, which JSON cannot write.
      text += typeof value === 'string' ? stringText(value) : String(value);
    }
    if (text.length >= PIECE_LENGTH) {
      hash.update(text, 'utf16le');
      text = '';
    }
  }
  return hash.update(text, 'utf16le').digest();
}

function containerOf(value: object): Container {
  return Array.isArray(value)
    ? { before: '[', between: ',', values: value.values(), end: ']' }
    : { before: '{', between: '', values: namesAndMembers(value as Record<string, unknown>), end: '}' };
}

/** Yields each name and then its value. It needs no separator: each name begins with a quote. */
function* namesAndMembers(object: Readonly<Record<string, unknown>>): Generator {
  for (const name of Object.keys(object).sort()) {
    yield name;
    yield object[name];
  }
}

/** The length prefix replaces quotes and escapes. */
function stringText(value: string): string {
  return `"${value.length}:${value}`;
}
