import { expect, test } from '@jest/globals';
import { flightTimeAfter, NO_FLIGHT_TIME } from './flight-time.ts';
import { DELIVERY_TIMEOUT_DEFAULT_MS } from '@postrider/runtime';
import type { FlightSample, FlightTime } from './flight-time.ts';

function after(samples: readonly FlightSample[], before: FlightTime = NO_FLIGHT_TIME): number | null {
  return samples.reduce(flightTimeAfter, before).shortestMs;
}

/** Samples at a steady rate: 10 are in flight, and one ends every `flightMs / 10`. */
function steady(count: number, flightMs: number): FlightSample[] {
  return Array.from({ length: count }, () => ({
    inFlight: 10,
    ended: 1,
    elapsedMs: flightMs / 10,
    shortestGrows: true,
    startedAtLimit: false,
  }));
}

test('is unknown until 32 have ended, and is then their mean', () => {
  expect(after(steady(31, 600))).toBeNull();
  expect(after(steady(32, 600))).toBeCloseTo(600);
});

test('is the shortest mean, not the shortest sample', () => {
  const burst = { inFlight: 10, ended: 5, elapsedMs: 1, shortestGrows: true, startedAtLimit: true }; // by itself: 2 ms
  expect(after([burst, ...steady(31, 600)])).toBeGreaterThan(400);
  expect(after([...steady(32, 60), ...steady(6, 600)])).toBeLessThan(66);
});

test('does not count a pause after which the end of deliveries is unknown', () => {
  const pause = { inFlight: 10, ended: 10, elapsedMs: 2_001, shortestGrows: true, startedAtLimit: false };
  expect(after([...steady(31, 600), pause])).toBeNull();
  expect(after([...steady(31, 600), pause, ...steady(31, 600)])).toBeNull();
});

test('counts a long time at the limit: the deliveries took that long', () => {
  const wave = { inFlight: 16, ended: 16, elapsedMs: 4_000, shortestGrows: true, startedAtLimit: true };
  expect(after([wave, wave])).toBeCloseTo(4_000);
  expect(after(Array<FlightSample>(5).fill(wave), after5Ms())).toBeGreaterThan(100); // 20 s
});

test('counts an hour in which this relay stalled as one attempt that timed out', () => {
  const hour = { inFlight: 48, ended: 48, elapsedMs: 3_600_000, shortestGrows: true, startedAtLimit: true };
  expect(after([hour])).toBe(DELIVERY_TIMEOUT_DEFAULT_MS);
  expect(after([hour], after5Ms())).toBeLessThan(100);
  expect(after(Array<FlightSample>(2).fill(hour), { ...NO_FLIGHT_TIME, shortestMs: 0 })).toBe(0);
});

test('is no shorter when many deliveries end together', () => {
  // 200 deliveries take 600 ms each and end in two bursts, 10 ms apart.
  const burst = (ended: number, elapsedMs: number) => ({
    inFlight: 200,
    ended,
    elapsedMs,
    shortestGrows: true,
    startedAtLimit: true,
  });
  const turnover = [burst(100, 590), burst(100, 10)];
  expect(after([...turnover, ...turnover, ...turnover])).toBeGreaterThan(300);
});

test('fades within seconds, because the endpoint may have become slower', () => {
  expect(after(steady(400, 600), after5Ms())).toBeGreaterThan(100); // 24 s
});

test('stays while deliveries queue in the worker', () => {
  const queued = { inFlight: 192, ended: 10, elapsedMs: 10, shortestGrows: false, startedAtLimit: true };
  expect(after(Array<FlightSample>(60_000).fill(queued), after5Ms())).toBe(5);
});

function after5Ms(): FlightTime {
  return { ...NO_FLIGHT_TIME, shortestMs: 5 };
}
