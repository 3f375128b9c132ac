import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startCampaign } from '../test/fuzz/campaign.ts';
import type { Campaign } from '../test/fuzz/campaign.ts';
import { judgeAnswer } from '../test/fuzz/judge-answer.ts';
import { createJudge } from '../test/fuzz/judge-exchange.ts';
import { readAnswers } from '../test/fuzz/read-answers.ts';
import { goodRequest, requests } from '../test/fuzz/request-spec.ts';
import type { RequestSpec } from '../test/fuzz/request-spec.ts';
import { lawfulKinds, ROUTE_LAWS } from '../test/fuzz/route-laws.ts';

const RUNS = 60;
const TIMEOUT_MS = 120_000;
const SENDS = Object.entries(ROUTE_LAWS).filter(([, { listsFaults }]) => listsFaults === true);

let campaign: Campaign;

beforeAll(async () => {
  campaign = await startCampaign({ verifiedDomainsOnly: true });
});
afterAll(() => campaign.stop());

describe.each(SENDS)('%s, where live mail leaves from verified domains only', (name, law) => {
  test(
    'has the answers that it has elsewhere, and 403 domain-not-verified, whatever it is sent',
    async () => {
      const [method = ''] = name.split(' ');
      const judge = createJudge(campaign);
      const lawful = [...lawfulKinds(law), '403 domain-not-verified'];
      const seen = new Set<string>();
      const property = fc.asyncProperty(requests(law), async (spec) => {
        const received = await campaign.exchange(await judge.bytesOf({ name, spec }), spec.pieces);
        for (const answer of readAnswers(received, [method])) {
          const { kind } = judgeAnswer(answer, method);
          if (!kind.startsWith('bare')) expect(lawful).toContain(kind);
          seen.add(kind);
        }
      });
      const examples = (law.body?.valid ?? []).map((from): [RequestSpec] => [
        goodRequest(law, { body: { from, changes: [], coat: 'none' } }),
      ]);
      await fc.assert(property, { numRuns: examples.length + RUNS, examples });
      expect(seen).toContain('403 domain-not-verified');
    },
    TIMEOUT_MS,
  );
});
