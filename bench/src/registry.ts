import type { Figure } from './figure.ts';
import { backlog } from './figures/backlog.ts';
import { drain } from './figures/drain.ts';
import { latency } from './figures/latency.ts';
import { processMemory } from './figures/process-memory.ts';
import { recordEvent } from './figures/record-event.ts';
import { redisMemory } from './figures/redis-memory.ts';
import { scaling } from './figures/scaling.ts';
import { send } from './figures/send.ts';
import { statements } from './figures/statements.ts';
import { deadInRetry } from './isolation/dead-in-retry.ts';
import { drips } from './isolation/drips.ts';
import { flood } from './isolation/flood.ts';
import { manyNeverAnswer } from './isolation/many-never-answer.ts';
import { neverAnswers } from './isolation/never-answers.ts';

/** Every figure, in the order of the page. */
export const FIGURES: readonly Figure[] = [
  drain,
  latency,
  scaling,
  backlog,
  redisMemory,
  statements,
  processMemory,
  recordEvent,
  send,
  neverAnswers,
  manyNeverAnswer,
  flood,
  deadInRetry,
  drips,
];
