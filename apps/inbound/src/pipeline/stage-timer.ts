import type { Metrics } from '@postrider/runtime';

type Stage = 'fetch' | 'parse' | 'authenticate' | 'scan' | 'blobs' | 'store';

/** Measures the duration of each stage of a message. */
export class StageTimer {
  readonly #metrics: Pick<Metrics<'inbound'>, 'inboundStageDuration'>;

  constructor(metrics: Pick<Metrics<'inbound'>, 'inboundStageDuration'>) {
    this.#metrics = metrics;
  }

  async timed<T>(stage: Stage, work: Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      return await work;
    } finally {
      this.#metrics.inboundStageDuration.observe({ stage }, (performance.now() - begun) / 1_000);
    }
  }
}
