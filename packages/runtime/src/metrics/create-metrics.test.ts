import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { register } from 'prom-client';
import { ROLES } from '../config/setting.ts';
import { metricCatalogue } from './catalogue.ts';
import { createMetrics, createSharedMetrics } from './create-metrics.ts';

test('a process has only the metrics that it sets, so no false zeros', async () => {
  const api = createMetrics('api', { processMetrics: false });
  api.httpRequests.inc({ method: 'GET', route: '/v1/webhooks', status: 200 });
  const text = await api.registry.metrics();
  expect(text).toContain(
    'postrider_http_requests_total{method="GET",route="/v1/webhooks",status="200",service="api"} 1',
  );
  expect(text).toContain('postrider_rate_limiter_failures_total{service="api"} 0');
  expect(text).not.toContain('postrider_oldest_due_age_seconds');
  expect(api).not.toHaveProperty('oldestDueAge');
});

test('a counter whose labels are known shows 0 from the start, so an alert sees its first event', async () => {
  const { registry } = createSharedMetrics(['relay', 'worker', 'inbound']);
  const text = await registry.metrics();
  for (const sample of [
    'postrider_tripwires_total{name="connected-to-refused-address",service="all"} 0',
    'postrider_passes_failed_total{pass="retention",service="all"} 0',
    'postrider_work_left_to_lease_total{work="mail",stage="hand_over",service="all"} 0',
    'postrider_inbound_messages_total{result="later",reason="postgres",service="all"} 0',
  ]) {
    expect(text).toContain(sample);
  }
});

test('each counter of an alert shows 0 from the start', async () => {
  const page = readFileSync(new URL('../../../../docs/operations/observe.md', import.meta.url), 'utf8');
  const alerts = page.matchAll(/\b(?:rate|increase)\((postrider_\w+_total)(?:\{(\w+="\w+")\})?/g);
  const counters = [...new Set([...alerts].map(([, name = '', label = '']) => `${name}\\{.*${label}`))];
  const [, results = ''] =
    /postrider_provider_notifications_total\{result="…"\}.* for each of (.*?) +\|/.exec(page) ?? [];
  const named = [...results.matchAll(/`(\w+)`/g)].map(([, result = '']) => result);
  expect(named.length).toBeGreaterThan(3);
  counters.push(...named.map((result) => `postrider_provider_notifications_total\\{.*result="${result}"`));
  expect(counters.length).toBeGreaterThan(25);
  const text = await createSharedMetrics(ROLES).registry.metrics();
  const without = counters.filter((sample) => !new RegExp(`^${sample}.*\\} 0$`, 'm').test(text));
  expect(without).toEqual([String.raw`postrider_redis_errors_total\{.*`]); // watchRedis adds the 0 of its client
});

test('two processes in one program have separate metrics, and the global registry stays empty', async () => {
  const [one, two] = [createMetrics('relay'), createMetrics('relay')];
  one.oldestDueAge.set(7);
  one.claimedRows.observe({ kind: 'delivery' }, 500);
  expect(await two.registry.metrics()).toContain('postrider_oldest_due_age_seconds{service="relay"} 0');
  expect(register.getMetricsAsArray()).toEqual([]);
});

test('roles of one process share a page, and an instrument that several of them have', async () => {
  const { registry, postgresErrors, httpRequests, oldestDueAge } = createSharedMetrics(['api', 'relay']);
  postgresErrors.inc({ code: '57P01' });
  httpRequests.inc({ method: 'GET', route: '/', status: 200 });
  oldestDueAge.set(2);
  const text = await registry.metrics();
  expect(text).toContain('postrider_postgres_errors_total{code="57P01",service="all"} 1');
  expect(text).toContain(
    'postrider_http_requests_total{method="GET",route="/",status="200",service="all"} 1',
  );
  expect(text).toContain('postrider_oldest_due_age_seconds{service="all"} 2');
  expect(text).toContain('process_resident_memory_bytes{service="all"}');
  expect(text).not.toContain('postrider_delivery_attempts_total');
});

test('memory and event loop are measured unless switched off', async () => {
  expect(await createMetrics('worker').registry.metrics()).toContain(
    'process_resident_memory_bytes{service="worker"}',
  );
  const bare = createMetrics('worker', { processMetrics: false });
  expect(await bare.registry.metrics()).not.toContain('process_resident_memory_bytes');
});

test.each(Object.values(metricCatalogue))('$name is named and explained as Prometheus asks', (metric) => {
  expect(metric.name).toMatch(/^postrider_[a-z_]+$/);
  expect(metric.name.endsWith('_total')).toBe(metric.kind === 'counter');
  expect(metric.help).toMatch(/^[A-Z].+\.$/);
  expect(metric.processes.length).toBeGreaterThan(0);
  const buckets = 'buckets' in metric ? [...metric.buckets] : [];
  expect(buckets).toEqual([...buckets].sort((a, b) => a - b));
  expect(buckets.length > 0).toBe(metric.kind === 'histogram');
  for (const labels of 'startingLabels' in metric ? metric.startingLabels : []) {
    expect(Object.keys(labels)).toEqual(metric.labels);
  }
});
