import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ProcessName, Role } from '../config/setting.ts';
import { type MetricCatalogue, metricCatalogue } from './catalogue.ts';
import { collectProcessMetrics } from './event-loop.ts';

type Labels<M> = M extends { labels: readonly (infer Label extends string)[] } ? Label : never;
type Instrument<M> = M extends { kind: 'counter' }
  ? Counter<Labels<M>>
  : M extends { kind: 'gauge' }
    ? Gauge<Labels<M>>
    : Histogram<Labels<M>>;

/** The processes among P that have the metric M; `never` when none has it. */
type UsersAmong<P, M> = M extends { processes: readonly (infer User)[] } ? P & User : never;

/** The instruments of a process, by their name in the catalogue, and the registry that `/metrics` shows. */
export type Metrics<P extends ProcessName = ProcessName> = {
  readonly [
    Name in keyof MetricCatalogue as UsersAmong<P, MetricCatalogue[Name]> extends never ? never : Name
  ]: Instrument<MetricCatalogue[Name]>;
} & { readonly registry: Registry };

export interface MetricsOptions {
  /** Memory, event loop, garbage collector. Default: true. */
  processMetrics?: boolean;
}

/**
 * Creates a new registry with the instruments of `process`. The label `service` of each sample is the name of
 * the process. The global registry of prom-client stays unchanged.
 */
export function createMetrics<const P extends ProcessName>(
  process: P,
  { processMetrics = true }: MetricsOptions = {},
): Metrics<P> {
  const registry = new Registry();
  registry.setDefaultLabels({ service: process });
  if (processMetrics) collectProcessMetrics(registry);
  return { ...instrumentsOf([process], registry), registry } as Metrics<P>;
}

/**
 * Creates a new registry for the process `all`, with the instruments of its roles. Roles that have the same
 * instrument share it. The label `service` is `all`.
 */
export function createSharedMetrics<const R extends Role>(roles: readonly R[]): Metrics<R> {
  const { registry } = createMetrics('all'); // no metric of the catalogue belongs to `all` itself
  return { ...instrumentsOf(roles, registry), registry } as Metrics<R>;
}

function instrumentsOf(
  users: readonly ProcessName[],
  registry: Registry,
): Record<string, ReturnType<typeof instrument>> {
  const used = Object.entries(metricCatalogue).filter(([, { processes }]) =>
    processes.some((process) => users.includes(process)),
  );
  return Object.fromEntries(used.map(([name, metric]) => [name, instrument(metric, registry)]));
}

function instrument(
  metric: MetricCatalogue[keyof MetricCatalogue],
  registry: Registry,
): Counter | Gauge | Histogram {
  const { name, help, labels } = metric;
  const options = { name, help, labelNames: [...labels], registers: [registry] };
  switch (metric.kind) {
    case 'counter': {
      const counter = new Counter(options);
      for (const values of 'startingLabels' in metric ? metric.startingLabels : []) counter.inc(values, 0);
      return counter;
    }
    case 'gauge':
      return new Gauge(options);
    case 'histogram':
      return new Histogram({ ...options, buckets: [...metric.buckets] });
  }
}
