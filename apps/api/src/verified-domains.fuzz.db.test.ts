import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runs } from '@postrider/testing';
import fc from 'fast-check';
import { startFuzzFixture } from '../test/fuzz/fuzz-fixture.ts';
import type { FuzzFixture } from '../test/fuzz/fuzz-fixture.ts';
import { judgeAnswer } from '../test/fuzz/judge-answer.ts';
import { createJudge } from '../test/fuzz/judge-exchange.ts';
import { readAnswers } from '../test/fuzz/read-answers.ts';
import { goodRequest, requests } from '../test/fuzz/request-spec.ts';
import type { RequestSpec } from '../test/fuzz/request-spec.ts';
import { allowedKinds, ROUTE_CONTRACTS } from '../test/fuzz/route-contracts.ts';

const RUNS = runs({ usual: 12, long: 3_000 });
const TIMEOUT_MS = runs({ usual: 120_000, long: 3_600_000 });
const SENDS = Object.entries(ROUTE_CONTRACTS).filter(([, { listsFaults }]) => listsFaults === true);

let fixture: FuzzFixture;

beforeAll(async () => {
  fixture = await startFuzzFixture({ verifiedDomainsOnly: true });
});
afterAll(() => fixture.stop());

describe.each(SENDS)('%s, where live mail leaves from verified domains only', (name, contract) => {
  test(
    'has the answers that it has elsewhere, and 403 domain-not-verified, whatever it is sent',
    async () => {
      const [method = ''] = name.split(' ');
      const judge = createJudge(fixture);
      const allowed = [...allowedKinds(contract), '403 domain-not-verified'];
      const seen = new Set<string>();
      const property = fc.asyncProperty(requests(contract), async (spec) => {
        const received = await fixture.exchange(await judge.bytesOf({ name, spec }), spec.pieces);
        for (const answer of readAnswers(received, [method])) {
          const { kind } = judgeAnswer(answer, method);
          if (!kind.startsWith('bare')) expect(allowed).toContain(kind);
          seen.add(kind);
        }
      });
      const examples = (contract.body?.valid ?? []).map((from): [RequestSpec] => [
        goodRequest(contract, { body: { from, changes: [], encoding: 'none' } }),
      ]);
      await fc.assert(property, { numRuns: examples.length + RUNS, examples });
      expect(seen).toContain('403 domain-not-verified');
    },
    TIMEOUT_MS,
  );
});
