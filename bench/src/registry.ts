import type { Figure } from './figure.ts';
import { activeWebhooks } from './figures/active-webhooks.ts';
import { apiLayers } from './figures/api-layers.ts';
import { backlog } from './figures/backlog.ts';
import { drain } from './figures/drain.ts';
import { halfLoad } from './figures/half-load.ts';
import { handOver } from './figures/hand-over.ts';
import { inbound } from './figures/inbound.ts';
import { inboundLatency } from './figures/inbound-latency.ts';
import { latency } from './figures/latency.ts';
import { oldSnapshot } from './figures/old-snapshot.ts';
import { processMemory } from './figures/process-memory.ts';
import { recordEvent } from './figures/record-event.ts';
import { redisMemory } from './figures/redis-memory.ts';
import { oneProcess, requestToArrival } from './figures/request-to-arrival.ts';
import { retryLateness } from './figures/retry-lateness.ts';
import { scaling } from './figures/scaling.ts';
import { send } from './figures/send.ts';
import { slowProvider } from './figures/slow-provider.ts';
import { statements } from './figures/statements.ts';
import { suppress } from './figures/suppress.ts';
import {
  answersLate,
  deadInRetry,
  drips,
  flood,
  manyNeverAnswer,
  manyWebhooks,
  neverAnswers,
} from './isolation/disturbances.ts';
import { inboundFlood } from './isolation/inbound-flood.ts';
import { coldStart, frozenWorker } from './isolation/recovery-figure.ts';
import { slowEndpoints } from './isolation/slow-endpoints.ts';
import { suppressionBatches } from './isolation/suppression-batches.ts';

/** All figures, in the order of the page. */
export const FIGURES: readonly Figure[] = [
  requestToArrival,
  oneProcess,
  drain,
  latency,
  scaling,
  backlog,
  oldSnapshot,
  redisMemory,
  statements,
  processMemory,
  recordEvent,
  send,
  suppress,
  apiLayers,
  handOver,
  slowProvider,
  inbound,
  inboundLatency,
  halfLoad,
  retryLateness,
  activeWebhooks,
  coldStart,
  frozenWorker,
  neverAnswers,
  manyNeverAnswer,
  flood,
  deadInRetry,
  drips,
  ...slowEndpoints,
  answersLate,
  manyWebhooks,
  suppressionBatches,
  inboundFlood,
];
