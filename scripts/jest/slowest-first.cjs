'use strict';
const { sep } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;

/** The files that take longest, the longest first. If one began last, it would run alone on one core. */
const SLOWEST = [
  'quickstart.e2e',
  'bench.e2e',
  'killed-processes.e2e',
  'account-shares.e2e',
  'ses-inbound-faults.e2e',
  'ses-inbound.e2e',
  'contract.e2e',
  'slow-endpoints.e2e',
  'worker-lifecycle.e2e',
  'job-of-several.e2e',
  'outbound-routes.fuzz',
  'inbound-routes.fuzz',
  'retention-bounds',
  'browser.db',
  'guarded-agent',
  'message-parser',
  'hostile.test',
  'published.test',
  'lint-rules',
  'node.test',
];

/**
 * Starts the slowest files first, then the end-to-end tests, then the tests on a database, then all others.
 * In a clean clone, Jest itself would sort by file size, which says little about the time.
 */
class SlowestFirst extends Sequencer {
  sort(tests) {
    return super
      .sort(tests)
      .map((test, order) => ({ test, rank: rankOf(test.path), order }))
      .sort((a, b) => a.rank - b.rank || a.order - b.order)
      .map(({ test }) => test);
  }
}

function rankOf(path) {
  const name = path.slice(path.lastIndexOf(sep) + 1);
  const index = SLOWEST.findIndex((slow) => name.startsWith(slow));
  if (index !== -1) return index;
  if (name.includes('.e2e.')) return SLOWEST.length;
  return name.includes('.db.') ? SLOWEST.length + 1 : SLOWEST.length + 2;
}

module.exports = Object.assign(SlowestFirst, { SLOWEST });
