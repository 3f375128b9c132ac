import type { IncomingMessage, ServerResponse } from 'node:http';
import { LIMITS } from '@postrider/domain';
import { FairByteBudget, KeyedQueue } from '@postrider/limits';
import type { BodyBytes, Slot } from '@postrider/limits';
import { bodyFault, onceBodyBroken } from './broken-body.ts';
import type { BodyFault } from './broken-body.ts';
import type { JsonCounts } from './json-values.ts';

interface BodyLimitValues {
  /** Each key may have this many batch bodies in flight. */
  readonly batchesPerKey: number;
  /** The memory budget for unparsed bodies. It counts each body beyond its first `bytesFree`. */
  readonly bytesMax: number;
  readonly bytesFree: number;
  /** The memory budget for parsed bodies, and the number per key. Bodies up to `bytesFree` do not count. */
  readonly parsedBytesMax: number;
  readonly parsedPerKey: number;
}

/**
 * Two batch bodies per key: one uploads while the other is stored. Bodies of other routes that fit into the
 * first 64 KiB are not counted. The largest body takes 93 MiB when it is parsed.
 */
const VALUES: BodyLimitValues = {
  batchesPerKey: 2,
  bytesMax: 8 * LIMITS.batchBodyBytes,
  bytesFree: LIMITS.bodyBytes,
  parsedBytesMax: 8 * LIMITS.batchBodyBytes,
  parsedPerKey: 4,
};

/** A parsed value takes at most this much besides its text: an object with one member of a unique name. */
const VALUE_BYTES = 256;
/** A number in an array takes 8 bytes, or 24 when it is no small integer (measured with Node 24). */
const NUMBER_BYTES = 24;

/** The time limit of a body ended while the API had no memory for it. The client did nothing wrong. */
export class BodyNotAdmittedError extends Error {
  override readonly name = 'BodyNotAdmittedError';
}

/** Limits the memory that request bodies take until their requests are done. */
export class BodyLimits {
  readonly values: BodyLimitValues;
  readonly batches: KeyedQueue;
  readonly budget: FairByteBudget;
  readonly parsed: KeyedQueue;

  constructor(values = VALUES) {
    this.values = values;
    this.batches = new KeyedQueue({ perKey: values.batchesPerKey, total: Infinity });
    this.budget = new FairByteBudget(values);
    this.parsed = new KeyedQueue({ perKey: values.parsedPerKey, total: values.parsedBytesMax });
  }
}

/**
 * The slots and bytes that one request's body holds. The caller must `release` them when the request is done.
 */
export class BodySlots {
  readonly #limits: BodyLimits;
  readonly #owner: string;
  readonly #isBatch: boolean;
  #batch: Slot | null = null;
  #bytes: BodyBytes | null = null;
  #parsed: Slot | null = null;

  /**
   * @param owner the id of the key, or one name for all requests without a key. Bodies of one owner share
   * limits.
   * @param isBatch whether the body waits for a batch slot. Routes that charge for the contents of the body
   * need it: before the charge, nothing else limits the number of their bodies.
   */
  constructor(limits: BodyLimits, owner: string, isBatch: boolean) {
    this.#limits = limits;
    this.#owner = owner;
    this.#isBatch = isBatch;
  }

  /**
   * Waits for the batch slot. Also resolves when the body has ended: the reader then finds the reason.
   *
   * @returns null when the body need not wait. Rejects with BodyNotAdmittedError.
   */
  admit(request: IncomingMessage, response: ServerResponse): Promise<void> | null {
    if (!this.#isBatch) return null;
    this.#batch = this.#limits.batches.join(this.#owner, 0);
    const { granted } = this.#batch;
    return granted === null ? null : grantedOrEnded(granted, request, response);
  }

  /**
   * Counts arrived bytes.
   * @returns null when the reader may continue; otherwise it resolves then, or never.
   */
  arrived(bytes: number): Promise<void> | null {
    this.#bytes ??= this.#limits.budget.open(this.#owner);
    return this.#bytes.take(bytes);
  }

  /**
   * Waits until the API has memory for the parsed body.
   *
   * @returns null when the body need not wait. Resolves to false when the client has disconnected.
   */
  admitParsed(
    bytes: number,
    { values, numbers }: JsonCounts,
    response: ServerResponse,
  ): Promise<boolean> | null {
    const { bytesFree, parsedBytesMax } = this.#limits.values;
    if (bytes <= bytesFree) return null;
    const size = Math.min(bytes + values * VALUE_BYTES + numbers * NUMBER_BYTES, parsedBytesMax);
    this.#parsed = this.#limits.parsed.join(this.#owner, size);
    const { granted } = this.#parsed;
    if (granted === null) return null;
    return Promise.race([granted.then(() => true), closeOf(response).then(() => false)]);
  }

  /** Frees the slots and the bytes. A waiting `admit`, `arrived` or `admitParsed` may then never resolve. */
  release(): void {
    this.#bytes?.release();
    this.#batch?.release();
    this.#parsed?.release();
  }
}

async function grantedOrEnded(
  granted: Promise<void>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const fault = await Promise.race([granted.then(() => null), endOf(request, response)]);
  if (fault === 'did not arrive in time')
    throw new BodyNotAdmittedError('the body got no batch slot in time');
}

/** Resolves when the body has ended early: with its fault, or with null when the client has disconnected. */
async function endOf(request: IncomingMessage, response: ServerResponse): Promise<BodyFault | null> {
  const fault = bodyFault(request);
  if (fault !== null || request.destroyed) return fault;
  return new Promise((resolve) => {
    response.once('close', () => resolve(null));
    onceBodyBroken(request, resolve);
  });
}

async function closeOf(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  await new Promise<void>((resolve) => response.once('close', resolve));
}
