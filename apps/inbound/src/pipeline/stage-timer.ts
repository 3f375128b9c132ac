import type { Metrics } from '@postrider/runtime';

export type StageMetrics = Pick<Metrics<'inbound'>, 'inboundStageDuration'>;

type Stage = 'fetch' | 'parse' | 'authenticate' | 'scan' | 'blobs' | 'store';

/** Measures the duration of a stage of a message. */
export async function timed<T>(metrics: StageMetrics, stage: Stage, work: Promise<T>): Promise<T> {
  const begun = performance.now();
  try {
    return await work;
  } finally {
    metrics.inboundStageDuration.observe({ stage }, (performance.now() - begun) / 1_000);
  }
}
