import { beforeEach, expect, test } from '@jest/globals';
import { FlightTime } from './flight-time.ts';

let flightTime: FlightTime;
beforeEach(() => void (flightTime = new FlightTime()));

/** An endpoint that takes `takesMs` has `inFlight` in flight for a time, and is checked every 50 ms. */
function serve(takesMs: number, inFlight: number, forMs: number): void {
  let rest = 0;
  for (let passedMs = 0; passedMs < forMs; passedMs += 50) {
    rest += (inFlight * 50) / takesMs;
    const ended = Math.floor(rest);
    rest -= ended;
    flightTime.add({ inFlight, ended, elapsedMs: 50, quickLimit: 48 });
  }
}

test.each([20, 80])('an endpoint that takes %i ms is quick', (takesMs) => {
  serve(takesMs, 8, 5_000);
  expect(flightTime.isQuick(8)).toBe(true);
});

test.each([150, 600, 4_000])('an endpoint that takes %i ms is not', (takesMs) => {
  serve(takesMs, 40, 10_000);
  expect(flightTime.isQuick(40)).toBe(false);
});

test('the mean is the time in flight', () => {
  serve(200, 20, 10_000);
  expect(flightTime.meanMs(0)).toBeGreaterThan(150);
  expect(flightTime.meanMs(0)).toBeLessThan(250);
});

test('one quick answer does not make a slow endpoint quick', () => {
  flightTime.add({ inFlight: 1, ended: 1, elapsedMs: 5, quickLimit: 48 });
  serve(600, 40, 10_000);
  expect(flightTime.isQuick(40)).toBe(false);
});

test('an endpoint that ends nothing is not quick', () => {
  flightTime.add({ inFlight: 8, ended: 0, elapsedMs: 1_000, quickLimit: 48 });
  expect(flightTime.isQuick(8)).toBe(false);
});

test('a quick endpoint whose deliveries queue in the worker stays quick', () => {
  serve(20, 8, 5_000);
  serve(400, 500, 20_000);
  expect(flightTime.isQuick(500)).toBe(true);
});

test('a quick endpoint that becomes slow is not quick after some seconds', () => {
  serve(5, 8, 5_000);
  serve(400, 40, 10_000);
  expect(flightTime.isQuick(40)).toBe(true);
  serve(400, 40, 20_000);
  expect(flightTime.isQuick(40)).toBe(false);
});

test('a new webhook counts as quick', () => {
  expect(flightTime.isQuick(0)).toBe(true);
});
