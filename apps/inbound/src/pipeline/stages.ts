import type { Metrics } from '@postrider/runtime';

/** Measures how long each stage of a message takes. */
export interface Stages {
  timed<T>(
    stage: 'fetch' | 'parse' | 'authenticate' | 'scan' | 'blobs' | 'store',
    work: Promise<T>,
  ): Promise<T>;
}

export function createStages({
  inboundStageDuration,
}: Pick<Metrics<'inbound'>, 'inboundStageDuration'>): Stages {
  return {
    async timed(stage, work) {
      const begun = performance.now();
      try {
        return await work;
      } finally {
        inboundStageDuration.observe({ stage }, (performance.now() - begun) / 1_000);
      }
    },
  };
}
