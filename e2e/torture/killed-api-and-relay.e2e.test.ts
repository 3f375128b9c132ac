import { apiKilledBetweenCommitAndAnswer } from './experiments/02-api-killed-between-commit-and-answer.ts';
import { relayKilledAtEveryStage } from './experiments/03-relay-killed-at-every-stage.ts';
import { testExperiments } from './test-experiments.ts';

testExperiments([apiKilledBetweenCommitAndAnswer, relayKilledAtEveryStage]);
