import type { IncomingMessage, ServerResponse } from 'node:http';
import { LIMITS } from '@postrider/domain';
import { BlockBuffer, FairByteBudget, KeyedQueue, settlesWithin } from '@postrider/limits';
import type { BodyBytes, Slot } from '@postrider/limits';
import { tooLarge } from '../problems/answers.ts';
import type { Answer } from './answer.ts';
import { bodyFault, onceBodyBroken } from './body-fault.ts';
import type { BodyFault } from './body-fault.ts';
import { countJsonValues, refusalOfCounts } from './body-rules.ts';
import type { BodyRule, JsonCounts } from './body-rules.ts';
import { contextOf } from './request-context.ts';

const SETTINGS = {
  /** Batch bodies in flight per key: one uploads while the other is stored. */
  batchesPerKey: 2,
  /** This many more batch bodies may wait, per key. What Node has read of a waiting body stays in memory. */
  batchesWaitingMax: 32,
  /** The memory budget for unparsed bodies. The first `bytesUncounted` of each body do not count. */
  bytesMax: 8 * LIMITS.batchBodyBytes,
  bytesUncounted: LIMITS.bodyBytes,
  /**
   * The memory budget for parsed bodies. Bodies up to `bytesUncounted` do not count. The largest parsed body
   * takes 183 MiB, half for numbers in arrays. One body at a time may exceed the budget.
   */
  parsedBytesMax: 4 * LIMITS.batchBodyBytes,
  /** A received body waits at most this long for the memory to parse it. Its arrival may take as long. */
  parseWaitMs: 30_000,
};

/** A parsed value takes at most this much besides its text: an object with one member of a unique name. */
const VALUE_BYTES = 256;
/** A number in an array takes 8 bytes, or 24 when it is no small integer (measured with Node 24). */
const NUMBER_BYTES = 24;

/** Limits the memory that all request bodies take until their requests are done. */
export class BodyLimits {
  readonly settings: typeof SETTINGS;
  readonly batches: KeyedQueue;
  readonly budget: FairByteBudget;
  readonly parsed: FairByteBudget;

  constructor(settings = SETTINGS) {
    this.settings = settings;
    this.batches = new KeyedQueue({ perKey: settings.batchesPerKey, total: Infinity });
    this.budget = new FairByteBudget(settings);
    this.parsed = new FairByteBudget({ bytesMax: settings.parsedBytesMax, bytesUncounted: 0 });
  }
}

/** Why the body was not read. An `Answer` is the refusal to send. */
export type NoBody = Answer | 'client gone' | 'no capacity';

export type BodyRead<Value> =
  | { readonly ok: true; readonly body: Value }
  /** `isFree`: the refusal costs nothing. */
  | { readonly ok: false; readonly why: NoBody; readonly isFree?: true };

interface BodyParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly rule: BodyRule;
  readonly limits: BodyLimits;
  /** The id of the key, or one name for all requests without a key. An owner's bodies share limits. */
  readonly owner: string;
  /**
   * True: the body waits for a batch slot. Routes that charge for the contents of a body need it. Before the
   * charge, only this slot limits such bodies.
   */
  readonly isBatch: boolean;
}

/** JSON is UTF-8 (RFC 8259 8.1). The decoder skips a byte order mark. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a request's body. The caller must `release` it when the request is done. */
export class Body {
  readonly #parts: BodyParts;
  /** The slots and the bytes that the body takes from the limits. */
  readonly #held: { release(): void }[] = [];
  /** Why no more of the body will arrive. Null: more may arrive. */
  #end: BodyFault | 'client gone' | null;
  /** Resolves when `#end` is set. */
  readonly #ended: Promise<void>;
  /** True while the body waits for a limit. */
  #isWaiting = false;

  constructor(parts: BodyParts) {
    const { request, response } = parts;
    this.#parts = parts;
    // The request and the response may have ended already. Then they emit no further event.
    this.#end = bodyFault(request) ?? (response.destroyed ? 'client gone' : null);
    this.#ended = new Promise((resolve) => {
      if (this.#end !== null) resolve();
      const end = (why: BodyFault | 'client gone'): void => {
        this.#end ??= why;
        resolve();
      };
      response.once('close', () => end('client gone'));
      onceBodyBroken(request, end);
    });
  }

  /** Reads a body as JSON, whatever its Content-Type says. */
  async json(): Promise<BodyRead<unknown>> {
    const { rule } = this.#parts;
    const read = await this.bytes();
    if (!read.ok) return read;
    if (read.body.length === 0 && rule.mayBeEmpty === true) return { ok: true, body: undefined };
    let body: unknown;
    try {
      body = JSON.parse(UTF8.decode(read.body));
    } catch {
      return { ok: false, why: rule.unreadable('is not valid JSON') };
    }
    const tooMany = Array.isArray(body) ? refusalOfEntries(body.length, rule) : null;
    return tooMany ?? { ok: true, body };
  }

  /** Reads the bytes of a body. A refused body stays unread from that point on. */
  async bytes(): Promise<BodyRead<Buffer>> {
    const { request, response, rule, limits, owner, isBatch } = this.#parts;
    const refusal = refusalOfHead(request, rule);
    if (refusal !== null) return { ok: false, why: refusal };
    if (isBatch) {
      if (limits.batches.waitingOf(owner) >= limits.settings.batchesWaitingMax)
        return { ok: false, why: 'no capacity' };
      await this.#wait(this.#hold(limits.batches.join(owner, 0)).granted);
    }
    if (this.#end !== null) return { ok: false, why: this.#reasonOfEnd() };
    sendContinue(response);
    const bytes = new BlockBuffer();
    const received = await this.#receive(bytes);
    if (received === 'ended early') return { ok: false, why: this.#reasonOfEnd() };
    if (received === 'too long') return { ok: false, why: rule.tooLarge(declaredBytes(request)) };
    const body = bytes.join();
    // A small body has fewer values than `refusalOfCounts` allows: each value takes a byte at least.
    if (body.length <= limits.settings.bytesUncounted) return { ok: true, body };
    const counts = countJsonValues(body);
    const tooMany = refusalOfEntries(counts.entries, rule);
    if (tooMany !== null) return tooMany;
    const excess = refusalOfCounts(counts, rule);
    if (excess !== null) return { ok: false, why: excess };
    const fault = await this.#waitToParse(body.length, counts);
    return fault === null ? { ok: true, body } : { ok: false, why: fault };
  }

  /** Frees the slots and the bytes. A body that still waits for them is then never read. */
  release(): void {
    for (const held of this.#held) held.release();
  }

  #hold<Held extends Slot | BodyBytes>(held: Held): Held {
    this.#held.push(held);
    return held;
  }

  /** Waits until the limit lets the body continue, or until the body has ended. */
  async #wait(granted: Promise<void> | null): Promise<void> {
    if (granted === null) return;
    this.#isWaiting = true;
    await Promise.race([granted, this.#ended]);
    if (this.#end === null) this.#isWaiting = false;
  }

  /** The client did nothing wrong when its time ended while the body waited for us. */
  #reasonOfEnd(): NoBody {
    if (this.#end === null || this.#end === 'client gone') return 'client gone';
    if (this.#isWaiting && this.#end === 'did not arrive in time') return 'no capacity';
    return this.#parts.rule.unreadable(this.#end);
  }

  /** Appends what arrives. The memory budget may pause the body meanwhile. */
  async #receive(bytes: BlockBuffer): Promise<'whole' | 'too long' | 'ended early'> {
    const { request, rule, limits, owner } = this.#parts;
    const budget = this.#hold(limits.budget.open(owner));
    return new Promise((resolve) => {
      const onData = (chunk: Buffer): void => {
        if (bytes.length + chunk.length > rule.bytesMax) {
          request.off('data', onData).pause();
          resolve('too long');
          return;
        }
        bytes.append(chunk);
        const granted = budget.take(chunk.length);
        if (granted === null) return;
        request.pause();
        void this.#wait(granted).then(() => {
          if (this.#end === null) request.resume();
        });
      };
      request.on('data', onData).once('end', () => resolve('whole'));
      void this.#ended.then(() => {
        request.off('data', onData);
        resolve('ended early');
      });
    });
  }

  /** Waits until the API has memory for the parsed body. @returns null when it has. */
  async #waitToParse(bytes: number, { values, numbers }: JsonCounts): Promise<NoBody | null> {
    const { parsed, settings } = this.#parts.limits;
    const size = bytes + values * VALUE_BYTES + numbers * NUMBER_BYTES;
    const granted = this.#hold(parsed.open(this.#parts.owner)).take(size);
    const waited = granted === null ? null : Promise.race([granted, this.#ended]);
    if (waited !== null && !(await settlesWithin(settings.parseWaitMs, waited))) return 'no capacity';
    return this.#end === null ? null : 'client gone';
  }
}

/** Refuses an array with more entries than the route takes. The refusal is free. */
function refusalOfEntries(count: number, { entries }: BodyRule) {
  if (entries === undefined || count <= entries.max) return null;
  return { ok: false, why: entries.refusal, isFree: true } as const;
}

/**
 * Checks the body of a request to a route that reads none. Returns null when it is within the limit. A
 * chunked body declares no length, so its bytes are counted and dropped. If it breaks off or is malformed,
 * the connection ends. A GET changes nothing and does not wait for the bytes.
 */
export async function refuseIgnored(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Answer | 'client gone' | null> {
  const declared = declaredBytes(request);
  const refusal = tooLarge(LIMITS.bodyBytes);
  if (declared !== null) return declared > LIMITS.bodyBytes ? refusal : null;
  if (request.method === 'GET') return null;
  if (bodyFault(request) !== null) request.destroy();
  if (request.destroyed || response.destroyed) return 'client gone';
  sendContinue(response);
  let bytes = 0;
  return new Promise((resolve) => {
    request.once('end', () => resolve(null)).once('close', () => resolve('client gone'));
    onceBodyBroken(request, () => request.destroy());
    request.on('data', function count(chunk: Buffer) {
      bytes += chunk.length;
      if (bytes <= LIMITS.bodyBytes) return;
      request.off('data', count).pause();
      resolve(refusal);
    });
  });
}

/** Refuses a body by the head of its request: too long, compressed, or with an unknown coding. */
function refusalOfHead(request: IncomingMessage, rule: BodyRule): Answer | null {
  const declared = declaredBytes(request);
  if (declared !== null && declared > rule.bytesMax) return rule.tooLarge(declared);
  // A compressed body could unpack to any size, so we accept none.
  const encodings = (request.headers['content-encoding'] ?? '').toLowerCase().split(',');
  if (encodings.some((encoding) => !['', 'identity'].includes(encoding.trim())))
    return rule.unreadable('has a Content-Encoding, which is not supported');
  // Node decodes the chunks and no other coding, for example in `gzip, chunked`.
  const coding = request.headers['transfer-encoding'];
  return coding === undefined || coding.trim().toLowerCase() === 'chunked'
    ? null
    : rule.unreadable('has a Transfer-Encoding other than chunked, which is not supported');
}

/** Sends `100 Continue`, if the client waits for it. Call it when nothing in the head refuses the body. */
function sendContinue(response: ServerResponse): void {
  const context = contextOf(response);
  if (!context.awaitsContinue) return;
  context.awaitsContinue = false;
  response.writeContinue();
}

/** Returns the body's Content-Length in bytes, or null for a chunked body. */
export function declaredBytes(request: IncomingMessage): number | null {
  return request.headers['transfer-encoding'] === undefined
    ? Number(request.headers['content-length'] ?? 0)
    : null;
}
