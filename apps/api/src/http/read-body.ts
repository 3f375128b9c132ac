import type { IncomingMessage, ServerResponse } from 'node:http';
import { LIMITS } from '@postrider/domain';
import { BlockBuffer } from '@postrider/limits';
import { tooLarge } from '../problems/answers.ts';
import type { Answer } from './answer.ts';
import { BodyNotAdmittedError } from './body-limits.ts';
import type { BodySlots } from './body-limits.ts';
import type { BodyRule } from './body-rules.ts';
import { bodyFault, onceBodyBroken } from './broken-body.ts';
import type { BodyFault } from './broken-body.ts';
import { countJsonValues, JSON_NUMBERS_MAX, JSON_VALUES_MAX } from './json-values.ts';
import { contextOf } from './request-context.ts';
import { declaredBytes } from './unread-body.ts';

/** The body, or the answer that refuses it. */
export type BodyRead<Body> =
  { readonly ok: true; readonly body: Body } | { readonly ok: false; readonly refusal: Answer };

/** The client disconnected before the end of its body, so no answer is possible. */
export class RequestAbortedError extends Error {
  override readonly name = 'RequestAbortedError';
}

/**
 * Reads a body as JSON, whatever its Content-Type says.
 *
 * @throws RequestAbortedError, BodyNotAdmittedError
 */
export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  rule: BodyRule,
  slots: BodySlots,
): Promise<BodyRead<unknown>> {
  const read = await readBytes(request, response, rule, slots);
  if (!read.ok) return read;
  if (read.body.length === 0 && rule.mayBeEmpty === true) return { ok: true, body: undefined };
  return parseJson(read.body) ?? refused(rule.unreadable('is not valid JSON'));
}

/**
 * Reads the bytes of a body. It refuses a Content-Length over the limit before it reads a byte, and a body
 * with more values than any route needs before the parsing.
 *
 * @throws RequestAbortedError, BodyNotAdmittedError
 */
export async function readBytes(
  request: IncomingMessage,
  response: ServerResponse,
  rule: BodyRule,
  slots: BodySlots,
): Promise<BodyRead<Buffer>> {
  const declared = declaredBytes(request);
  if (declared !== null && declared > rule.bytesMax) return refused(rule.tooLarge(declared));
  if (isEncoded(request)) return refused(rule.unreadable('has a Content-Encoding, which is not supported'));
  if (isTransferCoded(request)) {
    return refused(rule.unreadable('has a Transfer-Encoding other than chunked, which is not supported'));
  }
  const admitted = slots.admit(request, response);
  if (admitted !== null) await admitted;
  // A destroyed request emits no further event.
  if (request.destroyed) throw new RequestAbortedError('the client was gone before its body was read');
  sendContinue(request, response);
  const bytes = await collect(request, rule.bytesMax, slots);
  if (bytes === null) return refused(rule.tooLarge(declared));
  if (typeof bytes === 'string') return refused(rule.unreadable(bytes));
  const counts = countJsonValues(bytes);
  if (counts.values > JSON_VALUES_MAX)
    return refused(rule.unreadable(`has more than ${JSON_VALUES_MAX} values`));
  if (counts.numbers > JSON_NUMBERS_MAX)
    return refused(rule.unreadable(`has more than ${JSON_NUMBERS_MAX} numbers in arrays`));
  const parsing = slots.admitParsed(bytes.length, counts, response);
  if (parsing !== null && !(await parsing)) {
    throw new RequestAbortedError('the client was gone before its body was parsed');
  }
  return { ok: true, body: bytes };
}

/**
 * Checks a request to a route without a body. Returns null when Content-Length is within the limit. Nothing
 * reads the body, and its bytes are dropped. A chunked body, which declares no length, is dropped as well.
 */
export function refuseIgnored(request: IncomingMessage): Answer | null {
  return (declaredBytes(request) ?? 0) > LIMITS.bodyBytes ? tooLarge(LIMITS.bodyBytes) : null;
}

function refused(refusal: Answer): BodyRead<never> {
  return { ok: false, refusal };
}

/** A compressed body could unpack to any size, so we accept none. */
function isEncoded(request: IncomingMessage): boolean {
  const encodings = (request.headers['content-encoding'] ?? '').toLowerCase().split(',');
  return encodings.some((encoding) => !['', 'identity'].includes(encoding.trim()));
}

/** Node decodes the chunks and no other coding, for example in `gzip, chunked`. */
function isTransferCoded({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && coding.trim().toLowerCase() !== 'chunked';
}

/** The route calls this after the checks above, so the client does not send a body that we refuse. */
function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  const context = contextOf(response);
  if (!context.awaitsContinue || bodyFault(request) !== null) return;
  context.awaitsContinue = false;
  response.writeContinue();
}

/**
 * Returns the whole body, or the fault that ends it early. Returns null as soon as the body exceeds
 * `bytesMax`; the rest stays unread.
 *
 * @throws BodyNotAdmittedError when the body's time limit ends while the memory budget pauses it.
 */
async function collect(
  request: IncomingMessage,
  bytesMax: number,
  slots: BodySlots,
): Promise<Buffer | BodyFault | null> {
  const fault = bodyFault(request);
  if (fault !== null) return fault;
  const bytes = new BlockBuffer();
  let paused = false;
  let removeListeners = (): void => undefined;
  const read = new Promise<Buffer | BodyFault | null>((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      if (bytes.length + chunk.length > bytesMax) {
        request.off('data', onData).pause();
        resolve(null);
        return;
      }
      bytes.append(chunk);
      const admitted = slots.arrived(chunk.length);
      if (admitted === null) return;
      paused = true;
      request.pause();
      void admitted.then(() => {
        paused = false;
        request.resume();
      });
    };
    const onEnd = (): void => {
      request.off('close', onBreak); // 'close' follows 'end' before the promise settles
      resolve(bytes.join());
    };
    const onBreak = (cause?: unknown): void =>
      reject(new RequestAbortedError('the request broke off', { cause }));
    const offBodyBroken = onceBodyBroken(request, (why) => {
      if (paused && why === 'did not arrive in time')
        reject(new BodyNotAdmittedError('the memory budget paused the body until its time limit'));
      else resolve(why);
    });
    request.on('data', onData).once('end', onEnd).once('error', onBreak).once('close', onBreak);
    removeListeners = () => {
      request.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak);
      offBodyBroken();
    };
  });
  return read.finally(() => {
    // The request may outlive its body for long. Nothing handles its later errors, so ignore them.
    request.on('error', () => undefined);
    removeListeners();
  });
}

/** JSON is UTF-8 (RFC 8259 8.1). The decoder skips a byte order mark. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Buffer): BodyRead<unknown> | null {
  try {
    return { ok: true, body: JSON.parse(UTF8.decode(bytes)) as unknown };
  } catch {
    return null;
  }
}
