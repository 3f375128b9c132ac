import type { IncomingMessage, ServerResponse } from 'node:http';
import { LIMITS } from '@postrider/domain';
import { BlockBuffer } from '@postrider/limits';
import { tooLarge } from '../problems/answers.ts';
import type { Answer } from './answer.ts';
import { NoTurnError } from './body-gate.ts';
import type { Intake } from './body-gate.ts';
import type { BodyRule } from './body-rules.ts';
import { bodyFault, onceBodyBroken } from './broken-body.ts';
import type { BodyFault } from './broken-body.ts';
import { countJsonValues, JSON_VALUES_MAX } from './json-values.ts';
import { contextOf } from './request-context.ts';
import { declaredBytes } from './unread-body.ts';

/** A body, or the answer to one that cannot be had. */
export type BodyRead<Body> =
  { readonly ok: true; readonly body: Body } | { readonly ok: false; readonly refusal: Answer };

/** The client went away in the middle of its body: nobody is left to answer. */
export class RequestAbortedError extends Error {
  override readonly name = 'RequestAbortedError';
}

/**
 * Reads a body as JSON, whatever its Content-Type says.
 *
 * @throws RequestAbortedError, NoTurnError
 */
export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  rule: BodyRule,
  intake: Intake,
): Promise<BodyRead<unknown>> {
  const read = await readBytes(request, response, rule, intake);
  if (!read.ok) return read;
  if (read.body.length === 0 && rule.mayBeEmpty === true) return { ok: true, body: undefined };
  return parseJson(read.body) ?? refused(rule.unreadable('is not valid JSON'));
}

/**
 * Reads a body as it is. A declared length over the limit is refused before the first byte is read. A body of more values
 * than any route can want is refused unparsed.
 *
 * @throws RequestAbortedError, NoTurnError
 */
export async function readBytes(
  request: IncomingMessage,
  response: ServerResponse,
  rule: BodyRule,
  intake: Intake,
): Promise<BodyRead<Buffer>> {
  const declared = declaredBytes(request);
  if (declared !== null && declared > rule.bytesMax) return refused(rule.tooLarge(declared));
  if (isEncoded(request)) return refused(rule.unreadable('has a Content-Encoding, which is not supported'));
  if (isTransferCoded(request)) {
    return refused(rule.unreadable('has a Transfer-Encoding other than chunked, which is not supported'));
  }
  await intake.turn();
  // It has said so already, and would not again.
  if (request.destroyed) throw new RequestAbortedError('the client was gone before its body was read');
  sendContinue(request, response);
  const bytes = await collect(request, rule.bytesMax, intake);
  if (bytes === null) return refused(rule.tooLarge(declared));
  if (typeof bytes === 'string') return refused(rule.unreadable(bytes));
  const values = countJsonValues(bytes);
  if (values > JSON_VALUES_MAX) return refused(rule.unreadable(`has more than ${JSON_VALUES_MAX} values`));
  const admitted = await intake.parse(bytes.length, values);
  if (!admitted) throw new RequestAbortedError('the client was gone before its body was parsed');
  return { ok: true, body: bytes };
}

/**
 * Of a route that takes no body: null when what it declares is no longer than a body may be. It is not read; what comes of
 * it is thrown away, and of one in chunks, which declares nothing, too.
 */
export function refuseIgnored(request: IncomingMessage): Answer | null {
  return (declaredBytes(request) ?? 0) > LIMITS.bodyBytes ? tooLarge(LIMITS.bodyBytes) : null;
}

function refused(refusal: Answer): BodyRead<never> {
  return { ok: false, refusal };
}

/** A compressed body could unpack to any size; clients of such an API send none. */
function isEncoded(request: IncomingMessage): boolean {
  const encodings = (request.headers['content-encoding'] ?? '').toLowerCase().split(',');
  return encodings.some((encoding) => !['', 'identity'].includes(encoding.trim()));
}

/** `gzip, chunked`, for one: Node takes the chunks apart and leaves the rest as it came. */
function isTransferCoded({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && coding.trim().toLowerCase() !== 'chunked';
}

/** Only now: a client that asks first need not send a body that is refused. */
function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  const context = contextOf(response);
  if (!context.awaitsContinue || bodyFault(request) !== null) return;
  context.awaitsContinue = false;
  response.writeContinue();
}

/**
 * The whole body; null as soon as it has more than `bytesMax` bytes, the rest stays unread; or why there will never
 * be a whole one.
 *
 * @throws NoTurnError when its time was over while there was no room to read on.
 */
async function collect(
  request: IncomingMessage,
  bytesMax: number,
  intake: Intake,
): Promise<Buffer | BodyFault | null> {
  const fault = bodyFault(request);
  if (fault !== null) return fault;
  const bytes = new BlockBuffer();
  let waits = false;
  let letGo = (): void => undefined;
  const read = new Promise<Buffer | BodyFault | null>((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      if (bytes.length + chunk.length > bytesMax) {
        request.off('data', onData).pause();
        resolve(null);
        return;
      }
      bytes.append(chunk);
      const room = intake.arrived(chunk.length);
      if (room === null) return;
      waits = true;
      request.pause();
      void room.then(() => {
        waits = false;
        request.resume();
      });
    };
    const onEnd = (): void => {
      request.off('close', onBreak); // which comes before the promise is settled, and is no breaking off
      resolve(bytes.join());
    };
    const onBreak = (cause?: unknown): void =>
      reject(new RequestAbortedError('the request broke off', { cause }));
    const offBodyBroken = onceBodyBroken(request, (why) => {
      if (waits && why === 'did not arrive in time')
        reject(new NoTurnError('there was no room for the body'));
      else resolve(why);
    });
    request.on('data', onData).once('end', onEnd).once('error', onBreak).once('close', onBreak);
    letGo = () => {
      request.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak);
      offBodyBroken();
    };
  });
  return read.finally(() => {
    // The request may live on for long after its body; and what befalls it then is an error to nobody.
    request.on('error', () => undefined);
    letGo();
  });
}

/** Of JSON (RFC 8259 8.1). A byte order mark is let pass. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Buffer): BodyRead<unknown> | null {
  try {
    return { ok: true, body: JSON.parse(UTF8.decode(bytes)) as unknown };
  } catch {
    return null;
  }
}
