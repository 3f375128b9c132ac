import { createHistogram } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

/** Sets prom-client's own lag timer to 24 days, the longest interval: the gauges below replace its gauges. */
const NO_TIMER_MS = 2 ** 31 - 1;
/**
 * prom-client's timer of 10 ms would make two thirds of the CPU wake-ups of an idle process. Two samples a
 * second miss short delays. The counter of active seconds misses none.
 */
const SAMPLE_EVERY_MS = 500;
const NANOSECONDS_PER_MS = 1e6;
const LAG = 'nodejs_eventloop_lag';

/** Memory, event loop and garbage collector of this process, under the names of prom-client. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NO_TIMER_MS });
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith(LAG)) registry.removeSingleMetric(name);
  addLag(registry);
  addActiveSeconds(registry);
}

/** The gauges show how late this timer fires: the distribution of the samples since the last scrape. */
function addLag(registry: Registry): void {
  const histogram = createHistogram();
  const sample = (dueAtMs: number): void => {
    const lateMs = Math.max(0, performance.now() - dueAtMs);
    histogram.record(Math.max(1, Math.round(lateMs * NANOSECONDS_PER_MS)));
    sampleLater();
  };
  function sampleLater(): void {
    const dueAtMs = performance.now() + SAMPLE_EVERY_MS;
    setTimeout(sample, SAMPLE_EVERY_MS, dueAtMs).unref();
  }
  sampleLater();

  const values: Readonly<Record<string, () => number>> = {
    min: () => histogram.min,
    max: () => histogram.max,
    mean: () => histogram.mean,
    stddev: () => histogram.stddev,
    p50: () => histogram.percentile(50),
    p90: () => histogram.percentile(90),
    p99: () => histogram.percentile(99),
  };
  // This gauge is registered first, so its `collect` sets the others before a scrape reads them.
  const lag = new Gauge({
    name: `${LAG}_seconds`,
    help: 'Time from the scrape to the next turn of the event loop.',
    registers: [registry],
    async collect() {
      setDistribution();
      const askedAtMs = performance.now();
      await new Promise(setImmediate);
      lag.set((performance.now() - askedAtMs) / 1_000);
    },
  });
  const gauges = Object.entries(values).map(([which, value]) => {
    const help = `How late timers fired since the last scrape, of two samples a second: ${which}.`;
    return { gauge: new Gauge({ name: `${LAG}_${which}_seconds`, help, registers: [registry] }), value };
  });
  function setDistribution(): void {
    if (histogram.count === 0) return; // the gauges keep what they showed
    for (const { gauge, value } of gauges) gauge.set(value() / NANOSECONDS_PER_MS / 1_000);
    histogram.reset();
  }
}

function addActiveSeconds(registry: Registry): void {
  const counter = new Counter({
    name: 'nodejs_eventloop_active_seconds_total',
    help: 'Time that the event loop did not wait for events. Its rate is the part of the time that the thread was busy.',
    registers: [registry],
    collect() {
      counter.reset();
      counter.inc(performance.eventLoopUtilization().active / 1_000);
    },
  });
}
