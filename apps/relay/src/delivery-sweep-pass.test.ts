import { describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import type { Sweep, SweptWebhook } from '@postrider/store';
import { SweepPass } from './delivery-sweep-pass.ts';
import { OutstandingWebhooks } from './outstanding-webhooks.ts';

const MARK = { dueAt: '2026-01-01 00:00:00+00', deliveryId: '0' };
const swept = (id: string): SweptWebhook => ({ webhookId: id as WebhookId, scanFrom: MARK });

/** A sweep over a store that returns the given steps. Each step takes `tookMs` of the test's clock. */
function sweepOver(steps: (Sweep | Error)[], tookMs: number) {
  let nowMs = 0;
  const cursors: string[] = [];
  const found: WebhookId[] = [];
  const sweep = new SweepPass({
    store: {
      async sweep(cursor) {
        cursors.push(cursor);
        nowMs += tookMs;
        const step = steps.shift() ?? { webhooks: [], cursor: null };
        if (step instanceof Error) throw step;
        return step;
      },
    },
    claims: { outstanding: new OutstandingWebhooks(), lookAheadSeconds: async () => 60 },
    onFound: (webhooks) => found.push(...webhooks),
    nowMs: () => nowMs,
  });
  return { sweep, cursors, found, pass: (ms: number) => void (nowMs += ms) };
}

describe('the sweep', () => {
  test.each([
    [10, 2_000],
    [100, 5_000],
    [10_000, 60_000],
  ])('after one that took %i ms rests for %i ms', async (tookMs, restMs) => {
    const { sweep, cursors, pass } = sweepOver([], tookMs);
    expect(await sweep.run()).toBe(restMs);
    pass(restMs - 1);
    expect(await sweep.run()).toEqual({ noWorkForMs: 1 });
    expect(cursors).toHaveLength(1);
    pass(1);
    await sweep.run();
    expect(cursors).toHaveLength(2);
  });

  test('continues where its last step ended, rests as long as each step took, and counts the time of all steps', async () => {
    const steps = [
      { webhooks: [swept('wh_1')], cursor: 'wh_1' },
      { webhooks: [swept('wh_2')], cursor: null },
    ];
    const { sweep, cursors, found } = sweepOver(steps, 100);
    expect([await sweep.run(), await sweep.run()]).toEqual([100, 10_000]);
    expect([cursors, found]).toEqual([
      ['', 'wh_1'],
      ['wh_1', 'wh_2'],
    ]);
  });

  test('starts again after a failure, and rests in proportion to the time that it took', async () => {
    const steps = [{ webhooks: [], cursor: 'wh_1' }, new Error('statement timeout')];
    const { sweep, cursors, pass } = sweepOver(steps, 15_000);
    await sweep.run();
    await expect(sweep.run()).rejects.toThrow('statement timeout');
    expect(await sweep.run()).toEqual({ noWorkForMs: 60_000 });
    pass(60_000);
    await sweep.run();
    expect(cursors).toEqual(['', 'wh_1', '']);
  });
});
