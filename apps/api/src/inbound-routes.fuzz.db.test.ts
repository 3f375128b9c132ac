import { fuzzRoutes } from '../test/fuzz/fuzz-routes.ts';
import { isInboundPath } from '../test/fuzz/inbound-contracts.ts';

fuzzRoutes({
  includes: isInboundPath,
  // Only a release records an event.
  eventTypes: ['message.received'],
  secretsMin: 1,
});
