import { createHash } from 'node:crypto';

/** An array or object that is being hashed, one value at a time: a body may have millions. */
interface Container {
  /** What stands before its next value: its bracket, then what stands between two. */
  before: string;
  readonly between: string;
  readonly values: Iterator<unknown>;
  readonly end: string;
}

/** Text is handed to the hash in pieces of so many characters: one by one, small values would take many times as long. */
const PIECE_LENGTH = 16 * 1024;

/**
 * SHA-256 of what a parsed JSON body says, however it was written: the order of members, white space and escapes do
 * not count. Walks without recursion and hashes as it goes: a body may nest deeper than the stack, and its text may be
 * 32 MiB long. What it keeps grows with the depth alone, but for the names of the objects that are open.
 */
export function requestDigest(body: unknown): Buffer {
  const hash = createHash('sha256');
  const open: Container[] = [{ before: '', between: '', values: [body].values(), end: '' }];
  let text = '';
  for (let innermost = open.at(-1); innermost !== undefined; innermost = open.at(-1)) {
    const { done, value } = innermost.values.next() as IteratorResult<unknown, undefined>;
    text += innermost.before;
    innermost.before = innermost.between;
    if (done === true) text += open.pop()?.end ?? '';
    else if (typeof value === 'object' && value !== null) open.push(containerOf(value));
    else text += typeof value === 'string' ? stringText(value) : String(value); // JSON has no infinity, but 1e999 reads as one
    if (text.length < PIECE_LENGTH) continue;
    hash.update(text, 'utf16le');
    text = '';
  }
  return hash.update(text, 'utf16le').digest();
}

function containerOf(value: object): Container {
  return Array.isArray(value)
    ? { before: '[', between: ',', values: value.values(), end: ']' }
    : { before: '{', between: '', values: namesAndMembers(value as Record<string, unknown>), end: '}' };
}

function* namesAndMembers(object: Readonly<Record<string, unknown>>): Generator {
  for (const name of Object.keys(object).sort()) {
    yield name;
    yield object[name];
  }
}

/** Its length in front does what quotes and escapes would do. */
function stringText(value: string): string {
  return `"${value.length}:${value}`;
}
