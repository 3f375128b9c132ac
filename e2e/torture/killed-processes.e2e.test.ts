import { runs } from '@postrider/testing';
import { apiKilledBetweenCommitAndAnswer } from './experiments/02-api-killed-between-commit-and-answer.ts';
import { relayKilledAtEveryStage } from './experiments/03-relay-killed-at-every-stage.ts';
import { workerKilledAtEveryStage } from './experiments/05-worker-killed-at-every-stage.ts';
import { flushAll } from './experiments/08-flushall.ts';
import { sigtermWithRedisDown } from './experiments/40-sigterm-with-redis-down.ts';
import { inboundKilledAtEveryStep } from './experiments/49-inbound-killed-at-every-step.ts';
import { testExperiments } from './short-experiments.ts';

const IS_LONG = runs({ usual: 0, long: 1 }) === 1;
/** Other tests of `npm test` show the same. */
const MORE_IN_LONG = [apiKilledBetweenCommitAndAnswer, flushAll, sigtermWithRedisDown];

testExperiments([
  relayKilledAtEveryStage,
  workerKilledAtEveryStage,
  inboundKilledAtEveryStep,
  ...(IS_LONG ? MORE_IN_LONG : []),
]);
