import { describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import type { Sweep, SweptWebhook } from '@postrider/store';
import { SweepPass } from './sweep-pass.ts';

const MARK = { dueAt: '2026-01-01 00:00:00+00', deliveryId: '0' };
const swept = (id: string): SweptWebhook => ({ webhookId: id as WebhookId, dueInMs: -1, lowWaterMark: MARK });

const never = async () => Promise.reject(new Error('the step did not fail'));

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
      nextWebhook: never,
      sweepOne: never,
    },
    onFound: (webhooks) => found.push(...webhooks.map(({ webhookId }) => webhookId)),
    nowMs: () => nowMs,
  });
  return { sweep, cursors, found, pass: (ms: number) => void (nowMs += ms) };
}

describe('the sweep', () => {
  test.each([
    [10, 2_000],
    [100, 5_000],
    [10_000, 50_000], // it begins every minute
    [70_000, 0],
  ])('after one that took %i ms rests for %i ms', async (tookMs, restMs) => {
    const { sweep, cursors, pass } = sweepOver([], tookMs);
    expect(await sweep.run()).toBe(restMs);
    if (restMs > 0) {
      pass(restMs - 1);
      expect(await sweep.run()).toEqual({ noWorkForMs: 1 });
      expect(cursors).toHaveLength(1);
      pass(1);
    }
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

  test('begins every minute, also when it takes long because of its many steps', async () => {
    const STEPS = 20;
    const steps = Array.from({ length: STEPS }, (_, n) => ({ webhooks: [], cursor: String(n) }));
    const { sweep, pass } = sweepOver([...steps, { webhooks: [], cursor: null }], 1_000);
    let restsMs = 0;
    for (let step = 0; step < STEPS; step += 1) {
      const restMs = Number(await sweep.run());
      restsMs += restMs;
      pass(restMs);
    }
    expect(await sweep.run()).toBe(60_000 - (STEPS + 1) * 1_000 - restsMs);
  });

  test('finds a delivery before it is due, also when sweeps are slow', async () => {
    const STEPS = 10;
    let nowMs = 0;
    /** Each step of the store has one webhook for each second of ten minutes, in which it has a delivery due. */
    const foundAtMs = new Map<WebhookId, number>();
    const sweep = new SweepPass({
      store: {
        async sweep(cursor, _, lookAheadSeconds) {
          nowMs += 1_500;
          const step = Number(cursor) + 1;
          const due = Array.from({ length: 600 }, (__, n) => n).filter(
            (n) => n * 1_000 <= nowMs + lookAheadSeconds * 1_000,
          );
          return {
            webhooks: due.map((n) => swept(`wh_${step}_${n}`)),
            cursor: step === STEPS ? null : String(step),
          };
        },
        nextWebhook: never,
        sweepOne: never,
      },
      onFound(webhooks) {
        for (const { webhookId } of webhooks) if (!foundAtMs.has(webhookId)) foundAtMs.set(webhookId, nowMs);
      },
      nowMs: () => nowMs,
    });
    let firstEndedAtMs = 0;
    while (nowMs < 600_000) {
      const pause = await sweep.run();
      firstEndedAtMs ||= pause === 31_500 ? nowMs : 0;
      nowMs += typeof pause === 'number' ? pause : pause.noWorkForMs;
    }
    const late = [...foundAtMs].filter(([id, atMs]) => {
      const dueAtMs = Number(id.split('_')[2]) * 1_000;
      return dueAtMs > firstEndedAtMs && dueAtMs < atMs;
    });
    expect(firstEndedAtMs).toBeGreaterThan(0);
    expect(late).toEqual([]);
  });

  test('after a failure reads one webhook at a time, and continues behind the one that fails', async () => {
    const webhooks = Array.from({ length: 2_500 }, (_, n) => `wh_${n + 1_000}` as WebhookId);
    const cycle = sweepOverWebhooks(webhooks, 'wh_2200');
    for (let round = 1; round <= 2; round += 1) {
      const { found, failures } = await cycle();
      expect(found).toEqual(webhooks.filter((id) => id !== 'wh_2200'));
      expect(failures).toBe(2); // the step, then the webhook
    }
  });

  test('reads many webhooks in a step again once a wake-up may have been missed', async () => {
    const steps = [new Error('Postgres is away'), { webhooks: [swept('wh_1')], cursor: null }];
    const { sweep, found } = sweepOver(steps, 10);
    await expect(sweep.run()).rejects.toThrow('away');
    sweep.sweepAgain();
    expect(await sweep.run()).toBe(2_000);
    expect(found).toEqual(['wh_1']);
  });

  test('does so also when the wake-up comes while it reads one webhook', async () => {
    const seen: string[] = [];
    let nowMs = 0;
    const sweep: SweepPass = new SweepPass({
      store: {
        async sweep(cursor) {
          seen.push(`many after ${cursor}`);
          if (seen.length === 1) throw new Error('Postgres is away');
          return { webhooks: [], cursor: null };
        },
        async nextWebhook() {
          sweep.sweepAgain();
          return 'wh_1' as WebhookId;
        },
        async sweepOne(webhookId) {
          seen.push(webhookId);
          return [];
        },
      },
      onFound: () => undefined,
      nowMs: () => nowMs,
    });
    await expect(sweep.run()).rejects.toThrow('away');
    nowMs = 60_000;
    await sweep.run();
    await sweep.run();
    expect(seen).toEqual(['many after ', 'wh_1', 'many after wh_1']);
  });

  test('begins again at once when a wake-up may have been missed during it', async () => {
    const { sweep } = sweepOver([{ webhooks: [], cursor: 'wh_1' }], 100);
    await sweep.run(); // the first of two steps
    sweep.sweepAgain();
    expect(await sweep.run()).toBe(0);
  });

  test('rests after a failure in proportion to the time that it took', async () => {
    const { sweep } = sweepOver([new Error('away')], 100);
    await expect(sweep.run()).rejects.toThrow('away');
    expect(await sweep.run()).toEqual({ noWorkForMs: 5_000 });
  });
});

/**
 * A sweep over a store in which every statement that reads the entries of `slow` exceeds 15 s.
 * @returns a function that runs the pass until the last webhook was read.
 */
function sweepOverWebhooks(webhooks: readonly WebhookId[], slow: string) {
  let nowMs = 0;
  const found: WebhookId[] = [];
  function read(ids: readonly WebhookId[]): SweptWebhook[] {
    nowMs += ids.includes(slow as WebhookId) ? 15_000 : 1;
    if (ids.includes(slow as WebhookId)) throw new Error('statement timeout');
    return ids.map(swept);
  }
  const after = (cursor: string) => webhooks.filter((id) => id > cursor);
  const sweep = new SweepPass({
    store: {
      async sweep(cursor, webhooksMax) {
        const ids = after(cursor).slice(0, webhooksMax);
        return { webhooks: read(ids), cursor: ids.length === webhooksMax ? (ids.at(-1) ?? null) : null };
      },
      nextWebhook: async (cursor) => after(cursor)[0] ?? null,
      sweepOne: async (webhookId) => read([webhookId]),
    },
    onFound: (webhooks) => found.push(...webhooks.map(({ webhookId }) => webhookId)),
    nowMs: () => nowMs,
  });
  return async () => {
    found.length = 0;
    let failures = 0;
    for (let runs = 0; found.at(-1) !== webhooks.at(-1) && runs < 5_000; runs += 1) {
      const pause = await sweep.run().catch(() => void (failures += 1));
      if (typeof pause === 'object') nowMs += pause.noWorkForMs;
    }
    return { found: [...found], failures };
  };
}
