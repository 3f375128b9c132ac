import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RateDecision, RateLimiter } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import type { FaultProxy } from '@postrider/testing';

/** One limiter on a store that can be taken away from it. */
export interface LimiterUnderTest {
  readonly limiter: RateLimiter;
  /** The errors that `onUnavailable` has received. */
  readonly faults: readonly Error[];
  /** Stands between the limiter and its store. */
  readonly proxy: FaultProxy;
  close(): Promise<void>;
}

export interface StoreUnderTest {
  start(options: { readonly windowLengthMs?: number; readonly timeoutMs: number }): Promise<LimiterUnderTest>;
  /** How long the key's window still lasts by the store's own clock, and what was charged in it. */
  look(key: string): Promise<{ readonly remainingMs: number; readonly used: number }>;
}

const ALLOWED: RateDecision = { allowed: true };
const REFUSED: RateDecision = { allowed: false, why: 'limit' };
const UNAVAILABLE: RateDecision = { allowed: false, why: 'limiter-unavailable' };
/** So long that a slow machine does not refuse what is to be allowed. */
const PATIENT_MS = 10_000;
const LIMIT = 60;

interface Bench {
  /** A key that no other test charges. */
  key(): string;
  start(options?: {
    readonly windowLengthMs?: number;
    readonly timeoutMs?: number;
  }): Promise<LimiterUnderTest>;
  look: StoreUnderTest['look'];
  /** How many of `count` charges of cost 1, made at once and spread over the limiters, are allowed. */
  wave(count: number, limiters: readonly LimiterUnderTest[]): Promise<number>;
}

/** The semantics of the port `RateLimiter`, run on every adapter. */
export function rateLimiterConformance(store: () => StoreUnderTest): void {
  const bench = createBench(store);
  describe('a window', () => {
    amountTests(bench);
    lengthTests(bench);
  });
  describe('a cost over the whole limit', () => oversizeTests(bench));
  describe('a look', () => peekTests(bench));
  describe('concurrent charges', () => concurrencyTests(bench));
  describe('a store that does not answer', () => unavailabilityTests(bench));
}

function createBench(store: () => StoreUnderTest): Bench {
  const open: LimiterUnderTest[] = [];
  let key = '';
  beforeEach(() => {
    key = `key_${randomBytes(8).toString('hex')}`;
  });
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });
  return {
    key: () => key,
    look: (looked) => store().look(looked),
    async start(options = {}) {
      const one = await store().start({ timeoutMs: PATIENT_MS, ...options });
      open.push(one);
      return one;
    },
    async wave(count, limiters) {
      const charges = limiters.flatMap(({ limiter }) =>
        Array.from({ length: count / limiters.length }, () => limiter.charge(key, 1, LIMIT)),
      );
      return (await Promise.all(charges)).filter(({ allowed }) => allowed).length;
    },
  };
}

function amountTests(bench: Bench): void {
  test('allows its limit and refuses from then on', async () => {
    const { limiter } = await bench.start();
    for (let count = 0; count < LIMIT; count += 1)
      expect(await limiter.charge(bench.key(), 1, LIMIT)).toEqual(ALLOWED);
    expect(await limiter.charge(bench.key(), 1, LIMIT)).toEqual(REFUSED);
  });

  test('is all or nothing: what does not fit is refused and consumes nothing', async () => {
    const { limiter } = await bench.start();
    expect(await limiter.charge(bench.key(), 58, LIMIT)).toEqual(ALLOWED);
    expect(await limiter.charge(bench.key(), 3, LIMIT)).toEqual(REFUSED);
    expect((await bench.look(bench.key())).used).toBe(58);
    expect(await limiter.charge(bench.key(), 2, LIMIT)).toEqual(ALLOWED);
    expect(await limiter.charge(bench.key(), 1, LIMIT)).toEqual(REFUSED);
  });

  test('belongs to one key, with that key’s own limit', async () => {
    const { limiter } = await bench.start();
    expect(await limiter.charge(bench.key(), 1, 1)).toEqual(ALLOWED);
    expect(await limiter.charge(bench.key(), 1, 1)).toEqual(REFUSED);
    expect(await limiter.charge(`${bench.key()}x`, 1, 2)).toEqual(ALLOWED);
    expect(await limiter.charge(`${bench.key()}x`, 1, 2)).toEqual(ALLOWED);
    expect(await limiter.charge(`${bench.key()}x`, 1, 2)).toEqual(REFUSED);
  });

  test('is shared by every process that charges the key', async () => {
    const [one, two] = [await bench.start(), await bench.start()];
    expect(await one.limiter.charge(bench.key(), 59, LIMIT)).toEqual(ALLOWED);
    expect(await two.limiter.charge(bench.key(), 2, LIMIT)).toEqual(REFUSED);
    expect(await two.limiter.charge(bench.key(), 1, LIMIT)).toEqual(ALLOWED);
  });
}

function lengthTests(bench: Bench): void {
  test('begins with the first charge and is not moved by later ones, allowed or refused', async () => {
    const { limiter } = await bench.start();
    await limiter.charge(bench.key(), 1, LIMIT);
    let { remainingMs } = await bench.look(bench.key());
    expect(remainingMs).toBeLessThanOrEqual(60_000);
    for (const cost of [1, LIMIT, 1]) {
      await limiter.charge(bench.key(), cost, LIMIT);
      const later = await bench.look(bench.key());
      expect(later.remainingMs).toBeLessThanOrEqual(remainingMs);
      remainingMs = later.remainingMs;
    }
  });

  test('lasts its whole length whenever it begins: no window is cut at a second of the clock', async () => {
    const lengthMs = 700;
    const { limiter } = await bench.start({ windowLengthMs: lengthMs });
    const begins: { before: number; after: number }[] = [];
    await waitFor(
      async () => {
        const before = performance.now();
        const { allowed } = await limiter.charge(bench.key(), LIMIT, LIMIT);
        if (allowed) begins.push({ before, after: performance.now() });
        return begins.length === 5;
      },
      { what: 'five windows', intervalMs: 7 },
    );
    for (const [index, { before }] of begins.slice(0, -1).entries()) {
      // Less two: the store counts whole milliseconds.
      expect((begins[index + 1]?.after ?? 0) - before).toBeGreaterThanOrEqual(lengthMs - 2);
    }
  });
}

function oversizeTests(bench: Bench): void {
  test('is allowed on an untouched window, which then lasts until it has drained', async () => {
    const { limiter } = await bench.start();
    expect(await limiter.charge(bench.key(), 100, LIMIT)).toEqual(ALLOWED);
    const { remainingMs } = await bench.look(bench.key());
    expect(remainingMs).toBeGreaterThan(60_000); // 100 messages at 60 a minute: 100 s
    expect(remainingMs).toBeLessThanOrEqual(100_000);
    expect(await limiter.charge(bench.key(), 1, LIMIT)).toEqual(REFUSED);
    expect(await limiter.charge(bench.key(), 100, LIMIT)).toEqual(REFUSED);
  });

  test('is refused on a touched one, and consumes nothing', async () => {
    const { limiter } = await bench.start();
    expect(await limiter.charge(bench.key(), 1, LIMIT)).toEqual(ALLOWED);
    expect(await limiter.charge(bench.key(), 100, LIMIT)).toEqual(REFUSED);
    expect(await limiter.charge(bench.key(), 59, LIMIT)).toEqual(ALLOWED);
  });

  test('leaves an ordinary window behind once it has drained', async () => {
    const { limiter } = await bench.start({ windowLengthMs: 300 });
    expect(await limiter.charge(bench.key(), 100, LIMIT)).toEqual(ALLOWED);
    await waitFor(async () => (await limiter.charge(bench.key(), 1, LIMIT)).allowed, {
      what: 'the cost to drain',
    });
    expect((await bench.look(bench.key())).remainingMs).toBeLessThanOrEqual(300);
  });
}

function peekTests(bench: Bench): void {
  test('says whether a charge of 1 would be allowed, consumes nothing and begins no window', async () => {
    const { limiter } = await bench.start();
    expect(await limiter.peek(bench.key(), LIMIT)).toEqual(ALLOWED);
    expect(await bench.look(bench.key())).toEqual({ remainingMs: expect.any(Number), used: 0 });
    expect(await limiter.charge(bench.key(), 59, LIMIT)).toEqual(ALLOWED);
    expect(await limiter.peek(bench.key(), LIMIT)).toEqual(ALLOWED);
    expect(await limiter.charge(bench.key(), 1, LIMIT)).toEqual(ALLOWED);
    expect(await limiter.peek(bench.key(), LIMIT)).toEqual(REFUSED);
    expect(await limiter.peek(bench.key(), LIMIT + 1)).toEqual(ALLOWED);
    expect((await bench.look(bench.key())).used).toBe(60);
  });

  test('is refused while an oversize cost drains, and allowed again when it has', async () => {
    const { limiter } = await bench.start({ windowLengthMs: 300 });
    const refused = async () => {
      // Again, where the cost had drained before the look.
      await limiter.charge(bench.key(), 100, LIMIT);
      const decision = await limiter.peek(bench.key(), LIMIT);
      return !decision.allowed && decision;
    };
    expect(await waitFor(refused, { what: 'a look while the cost drains' })).toEqual(REFUSED);
    await waitFor(async () => (await limiter.peek(bench.key(), LIMIT)).allowed, {
      what: 'the cost to drain',
    });
  });

  test('an untouched window stays untouched: a cost over the whole limit still fits', async () => {
    const { limiter } = await bench.start();
    expect(await limiter.peek(bench.key(), LIMIT)).toEqual(ALLOWED);
    expect(await limiter.charge(bench.key(), 100, LIMIT)).toEqual(ALLOWED);
  });
}

function concurrencyTests(bench: Bench): void {
  test('of 100 under a limit of 60, from several processes, exactly 60 are allowed', async () => {
    const limiters = [await bench.start(), await bench.start()];
    expect(await bench.wave(100, limiters)).toBe(LIMIT);
    expect((await bench.look(bench.key())).used).toBe(LIMIT);
  });

  test('of cost 7 never add up to more than the limit', async () => {
    const one = await bench.start();
    const decisions = await Promise.all(
      Array.from({ length: 40 }, () => one.limiter.charge(bench.key(), 7, LIMIT)),
    );
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(8);
  });

  test('that meet the end of a window get exactly one new one', async () => {
    const limiters = [
      await bench.start({ windowLengthMs: 3000 }),
      await bench.start({ windowLengthMs: 3000 }),
    ];
    await bench.wave(100, limiters);
    let allowed = 0;
    await waitFor(async () => (allowed += await bench.wave(100, limiters)) > 0, {
      what: 'the next window',
    });
    allowed += await bench.wave(100, limiters);
    expect(allowed).toBe(LIMIT);
    expect((await bench.look(bench.key())).used).toBe(LIMIT);
  });
}

function unavailabilityTests(bench: Bench): void {
  test('when it hangs, refuses the charge within the time limit, and says why', async () => {
    const one = await bench.start({ timeoutMs: 250 });
    await waitFor(async () => (await one.limiter.charge(bench.key(), 1, LIMIT)).allowed, {
      what: 'the store',
    });
    const before = one.faults.length;
    one.proxy.hold();
    expect(await one.limiter.charge(bench.key(), 1, LIMIT)).toEqual(UNAVAILABLE);
    expect(await one.limiter.peek(bench.key(), LIMIT)).toEqual(UNAVAILABLE);
    expect(one.faults.slice(before).map(({ message }) => message)).toEqual([
      expect.stringMatching(/250|timed out/),
      expect.stringMatching(/250|timed out/),
    ]);
    one.proxy.pass();
    await waitFor(async () => (await one.limiter.charge(bench.key(), 1, LIMIT)).allowed, {
      what: 'the store again',
    });
  });

  test('when it goes away, refuses, and allows again by itself when it is back', async () => {
    const one = await bench.start({ timeoutMs: 250 });
    await waitFor(async () => (await one.limiter.charge(bench.key(), 1, LIMIT)).allowed, {
      what: 'the store',
    });
    const before = one.faults.length;
    one.proxy.takeAway();
    expect(await one.limiter.charge(bench.key(), 1, LIMIT)).toEqual(UNAVAILABLE);
    expect(await one.limiter.peek(bench.key(), LIMIT)).toEqual(UNAVAILABLE);
    expect(one.faults.length - before).toBe(2);
    one.proxy.restore();
    await waitFor(async () => (await one.limiter.charge(bench.key(), 1, LIMIT)).allowed, {
      what: 'the store again',
    });
  });

  test('when it hangs for long, is found again when it answers', async () => {
    const one = await bench.start({ timeoutMs: 100 });
    await waitFor(async () => (await one.limiter.charge(bench.key(), 1, 1000)).allowed, {
      what: 'the store',
    });
    one.proxy.hold();
    // Ten time limits: longer than a connection may be silent.
    for (let count = 0; count < 10; count += 1)
      expect(await one.limiter.charge(bench.key(), 1, 1000)).toEqual(UNAVAILABLE);
    one.proxy.pass();
    await waitFor(async () => (await one.limiter.charge(bench.key(), 1, 1000)).allowed, {
      what: 'the store again',
    });
  });
}
