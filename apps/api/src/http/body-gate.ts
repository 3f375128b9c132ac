import type { IncomingMessage, ServerResponse } from 'node:http';
import { LIMITS } from '@postrider/domain';
import { bodyFault, onceBodyBroken } from './broken-body.ts';
import type { BodyFault } from './broken-body.ts';

interface BodyGateLimits {
  /** Bodies that one key may have in hand. */
  readonly perKey: number;
  /** Of all bodies in hand. */
  readonly bytesMax: number;
}

/** Two of a key, so that one can be sent while another is stored; of all keys, eight of the largest: 256 MiB. */
const GATE: BodyGateLimits = { perKey: 2, bytesMax: 8 * LIMITS.batchBodyBytes };

/** A place in the line before the gate, and later behind it. */
export interface Place {
  /** Resolves when it is this one's turn; never, when it leaves before. */
  readonly admitted: Promise<void>;
  /** Gives the place up, wherever it is; a second time is harmless. */
  leave(): void;
}

/**
 * Bounds what large bodies take of the memory: those that are read, and those whose request is not done yet. Only for
 * routes that charge for what stands in the body: elsewhere the charge before the body bounds how many there can be.
 */
export interface BodyGate {
  /** @param bytes that the body may have at the most. */
  line(key: string, bytes: number): Place;
}

interface Waiting {
  readonly key: string;
  readonly bytes: number;
  readonly admit: () => void;
}

/**
 * In the order they came. One that waits for others of its own key is passed by; one that waits for room is not, or
 * smaller ones could make it wait for ever.
 */
export function createBodyGate({ perKey, bytesMax }: BodyGateLimits = GATE): BodyGate {
  const waiting = new Set<Waiting>();
  const keysInHand = new Map<string, number>();
  let bytesInHand = 0;

  function move({ key, bytes }: Waiting, by: 1 | -1): void {
    const count = (keysInHand.get(key) ?? 0) + by;
    if (count === 0) keysInHand.delete(key);
    else keysInHand.set(key, count);
    bytesInHand += by * bytes;
  }

  function admitNext(): void {
    for (const next of waiting) {
      if ((keysInHand.get(next.key) ?? 0) >= perKey) continue;
      if (bytesInHand + next.bytes > bytesMax) return;
      waiting.delete(next);
      move(next, 1);
      next.admit();
    }
  }

  return {
    line(key, bytes) {
      let admit = (): void => undefined;
      const admitted = new Promise<void>((resolve) => (admit = resolve));
      const place = { key, bytes, admit };
      let left = false;
      waiting.add(place);
      admitNext();
      return {
        admitted,
        leave() {
          if (left) return;
          left = true;
          if (!waiting.delete(place)) move(place, -1);
          admitNext();
        },
      };
    },
  };
}

/** The time that a body may take was over before its turn came: nothing of it was read, and its client is not to blame. */
export class NoTurnError extends Error {
  override readonly name = 'NoTurnError';
}

/**
 * Waits for a body's turn; returns all the same when there will be no body: whoever reads it finds out why.
 *
 * @throws NoTurnError
 */
export type Admit = (bytes: number) => Promise<void>;

/** Does `work`, which asks to be admitted before it reads a body; its place is given up when it ends, however it ends. */
export async function inTurn<Result>(
  line: (bytes: number) => Place,
  request: IncomingMessage,
  response: ServerResponse,
  work: (admit: Admit) => Promise<Result>,
): Promise<Result> {
  const places: Place[] = [];
  try {
    return await work(async (bytes) => {
      const place = line(bytes);
      places.push(place);
      const fault = await Promise.race([place.admitted.then(() => null), endOf(request, response)]);
      if (fault === 'did not arrive in time') throw new NoTurnError('the body was never admitted');
    });
  } finally {
    for (const place of places) place.leave();
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
