import { fuzzRoutes, fuzzTargets, RUNS } from '../test/fuzz/fuzz-routes.ts';
import { isInboundPath } from '../test/fuzz/inbound-contracts.ts';

fuzzTargets();
fuzzRoutes({
  includes: (path) => !isInboundPath(path),
  // A suppression records email.unsubscribed. A replay writes the event of a dead letter back.
  eventTypes: ['email.sent', 'email.unsubscribed'],
  secretsMin: RUNS / 10,
});
