import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { collectProcessMetrics } from './event-loop.ts';

const LAGS = ['', '_min', '_max', '_mean', '_stddev', '_p50', '_p90', '_p99'];

async function valueOf(registry: Registry, name: string): Promise<number | undefined> {
  return (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
}

function block(ms: number): void {
  for (const endsAtMs = performance.now() + ms; performance.now() < endsAtMs;);
}

test('the page has every metric of the event loop that prom-client names, once', async () => {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const page = await registry.metrics();
  const names = [...page.matchAll(/^# TYPE (nodejs_eventloop_lag\S*) /gm)].map(([, name]) => name);
  expect(names.sort()).toEqual(LAGS.map((which) => `nodejs_eventloop_lag${which}_seconds`).sort());
});

test('a blocked event loop shows in the lag of the next scrape', async () => {
  const registry = new Registry();
  collectProcessMetrics(registry);
  block(1_500); // a sample is due after 500 ms
  await new Promise((resolve) => setTimeout(resolve, 1));
  const page = await registry.metrics();
  const shown = /^nodejs_eventloop_lag_max_seconds (.*)$/m.exec(page)?.[1];
  expect(Number(shown)).toBeGreaterThan(0.5);
});

test('active seconds grow with the work of the thread', async () => {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const before = (await valueOf(registry, 'nodejs_eventloop_active_seconds_total')) ?? NaN;
  block(300);
  const after = (await valueOf(registry, 'nodejs_eventloop_active_seconds_total')) ?? NaN;
  expect(after - before).toBeGreaterThan(0.25);
});
