import { relayKilledAtEveryStage } from './experiments/03-relay-killed-at-every-stage.ts';
import { workerKilledAtEveryStage } from './experiments/05-worker-killed-at-every-stage.ts';
import { inboundKilledAtEveryStep } from './experiments/49-inbound-killed-at-every-step.ts';
import { testExperiments } from './short-experiments.ts';

testExperiments([relayKilledAtEveryStage, workerKilledAtEveryStage, inboundKilledAtEveryStep]);
