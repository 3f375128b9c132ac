import { flushAll } from './experiments/08-flushall.ts';
import { sigtermWithRedisDown } from './experiments/40-sigterm-with-redis-down.ts';
import { testExperiments } from './test-experiments.ts';

testExperiments([flushAll, sigtermWithRedisDown]);
