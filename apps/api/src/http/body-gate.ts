import type { IncomingMessage, ServerResponse } from 'node:http';
import { LIMITS } from '@postrider/domain';
import { FairByteBudget, KeyedQueue } from '@postrider/limits';
import type { BodyBytes, Slot } from '@postrider/limits';
import { bodyFault, onceBodyBroken } from './broken-body.ts';
import type { BodyFault } from './broken-body.ts';

interface BodyGateLimits {
  /** Bodies of one key that take turns: how many are in hand. */
  readonly turnsPerKey: number;
  /** Of all bodies in hand, each beyond its first `bytesFree`. */
  readonly bytesMax: number;
  readonly bytesFree: number;
  /** Of what all bodies take once they are read, and of how many of one key. Bodies of up to `bytesFree` do not count. */
  readonly parsedBytesMax: number;
  readonly parsedPerKey: number;
}

/**
 * Of turns two, so that one can be sent while another is stored. What all bodies of the other routes have room in is free.
 * Parsed, the largest body takes 93 MiB.
 */
const GATE: BodyGateLimits = {
  turnsPerKey: 2,
  bytesMax: 8 * LIMITS.batchBodyBytes,
  bytesFree: LIMITS.bodyBytes,
  parsedBytesMax: 8 * LIMITS.batchBodyBytes,
  parsedPerKey: 4,
};

/** What a parsed value takes besides its text, at the most: objects with a member each, none named like another. */
const VALUE_BYTES = 256;

/** Bounds what bodies take of the memory until their requests are done. */
export interface BodyGate {
  /**
   * @param owner whose bodies share what there is: a key, or all who have none.
   * @param takesTurns as on routes that charge for what stands in the body: before, nothing bounds how many there are.
   */
  enter(owner: string, takesTurns: boolean): Visit;
}

/** One request's body behind the gate. */
export interface Visit {
  /** @returns null when it takes none. */
  turn(): Slot | null;
  readonly share: BodyBytes;
  /** @param values that the body holds. @returns null when it is too small to count. */
  parse(bytes: number, values: number): Slot | null;
}

export function createBodyGate(limits: BodyGateLimits = GATE): BodyGate {
  const turns = new KeyedQueue({ perKey: limits.turnsPerKey, total: Infinity });
  const budget = new FairByteBudget(limits);
  const parsed = new KeyedQueue({ perKey: limits.parsedPerKey, total: limits.parsedBytesMax });
  return {
    enter: (owner, takesTurns) => ({
      turn: () => (takesTurns ? turns.join(owner, 0) : null),
      share: budget.open(owner),
      parse: (bytes, values) =>
        bytes <= limits.bytesFree
          ? null
          : parsed.join(owner, Math.min(bytes + values * VALUE_BYTES, limits.parsedBytesMax)),
    }),
  };
}

/** The time that a body may take was over before there was room for it: its client is not to blame. */
export class NoTurnError extends Error {
  override readonly name = 'NoTurnError';
}

/** How the gate is passed by whoever reads a body. */
export interface Intake {
  /**
   * Waits for a body's turn; returns all the same when there will be no body: whoever reads it finds out why.
   *
   * @throws NoTurnError
   */
  turn(): Promise<void>;
  /** @returns null when more may be read at once; else it resolves when more may be, or never. */
  arrived(bytes: number): Promise<void> | null;
  /** Waits until a body that is read may be parsed. @returns false when its client has gone before. */
  parse(bytes: number, values: number): Promise<boolean>;
}

/** Does `work`, which reads a body; what that has in hand is given up when it ends, however it ends. */
export async function behindGate<Result>(
  visit: Visit,
  request: IncomingMessage,
  response: ServerResponse,
  work: (intake: Intake) => Promise<Result>,
): Promise<Result> {
  const held: Pick<Slot, 'release'>[] = [visit.share];
  try {
    return await work({
      async turn() {
        const place = visit.turn();
        if (place === null) return;
        held.push(place);
        if (place.granted === null) return;
        const fault = await Promise.race([place.granted.then(() => null), endOf(request, response)]);
        if (fault === 'did not arrive in time') throw new NoTurnError('the body was never admitted');
      },
      arrived: (bytes) => visit.share.take(bytes),
      async parse(bytes, values) {
        const place = visit.parse(bytes, values);
        if (place === null) return true;
        held.push(place);
        if (place.granted === null) return true;
        return Promise.race([place.granted.then(() => true), closeOf(response).then(() => false)]);
      },
    });
  } finally {
    for (const place of held) place.release();
  }
}

/** Resolves when there will be no body: with what is wrong with it, or with null when the client has gone. */
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
