import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { ClaimedDelivery } from '@postrider/store';
import { createAdmissions, ROOM } from './admission.ts';
import type { Admissions } from './admission.ts';

const [A, B, C] = ['wh_a', 'wh_b', 'wh_c'] as [WebhookId, WebhookId, WebhookId];

let admissions: Admissions;
beforeEach(() => void (admissions = createAdmissions()));

function claimed(count: number, more: Partial<ClaimedDelivery> = {}): ClaimedDelivery[] {
  return Array.from({ length: count }, (_, n) => ({
    deliveryId: String(n),
    claim: 0,
    webhookId: A,
    inFlight: 0,
    stuck: false,
    failing: false,
    lapsed: false,
    delayMs: 0,
    ...more,
  }));
}

/** How many of what was claimed went to each lane. */
function lanesOf(deliveries: readonly ClaimedDelivery[]): Record<Lane, number> {
  const lanes = admissions.observe(deliveries);
  return { fast: lanes.get('fast')?.length ?? 0, slow: lanes.get('slow')?.length ?? 0 };
}

describe('the room of a webhook', () => {
  test('begins small, grows by what each round has ended, and has a bound', () => {
    const rooms = [admissions.roomOf(A)];
    for (let round = 0; round < 7; round += 1) {
      admissions.observe(claimed(admissions.roomOf(A)));
      rooms.push(admissions.roomOf(A));
    }
    expect(rooms).toEqual([8, 8, 16, 24, 40, 64, 104, 128]);
    admissions.observe(claimed(128));
    expect(admissions.roomOf(A)).toBe(ROOM.most);
  });

  test('grows by as many as ended since the last claim, not by those still in hand', () => {
    admissions.observe(claimed(8));
    admissions.observe(claimed(3, { inFlight: 5 }));
    expect(admissions.roomOf(A)).toBe(11);
    admissions.observe(claimed(3, { inFlight: 8 }));
    expect(admissions.roomOf(A)).toBe(11);
  });

  test('falls back at once when it fails, and begins to grow anew when it answers again', () => {
    for (let round = 0; round < 5; round += 1) admissions.observe(claimed(admissions.roomOf(A)));
    admissions.observe(claimed(1, { failing: true }));
    expect(admissions.roomOf(A)).toBe(ROOM.failing);
    admissions.observe(claimed(4));
    admissions.observe(claimed(4));
    expect(admissions.roomOf(A)).toBe(ROOM.failing + 5);
  });

  test('is cut while an attempt is stuck', () => {
    for (let round = 0; round < 6; round += 1) admissions.observe(claimed(admissions.roomOf(A)));
    admissions.observe(claimed(1, { stuck: true, inFlight: 20 }));
    expect(admissions.roomOf(A)).toBe(ROOM.stuck);
  });

  test('does not grow by what was lost: deliveries that come back have not ended', () => {
    admissions.observe(claimed(8));
    admissions.observe(claimed(8, { lapsed: true }));
    expect(admissions.roomOf(A)).toBe(ROOM.first);
  });

  test('does not grow by what could not be queued', () => {
    for (let round = 0; round < 5; round += 1) {
      const deliveries = claimed(8);
      admissions.observe(deliveries);
      admissions.takeBack(deliveries);
    }
    expect(admissions.roomOf(A)).toBe(ROOM.first);
    expect(lanesOf(claimed(8))).toEqual({ fast: 2, slow: 6 });
  });

  test('is each webhook’s own', () => {
    admissions.observe([...claimed(8), ...claimed(8, { webhookId: B })]);
    admissions.observe([...claimed(8), ...claimed(8, { webhookId: B, failing: true })]);
    expect([A, B, C].map((id) => admissions.roomOf(id))).toEqual([16, ROOM.failing, ROOM.first]);
  });

  test('of webhooks beyond 50,000 is forgotten, the one longest not claimed for first', () => {
    for (const webhookId of [A, B]) {
      admissions.observe(claimed(8, { webhookId }));
      admissions.observe(claimed(8, { webhookId }));
    }
    for (let n = 0; n < 49_998; n += 1) admissions.observe(claimed(1, { webhookId: `wh_${n}` as WebhookId }));
    admissions.observe(claimed(1, { inFlight: 16 })); // A is used again; B is the oldest now
    admissions.observe(claimed(1, { webhookId: C }));
    expect([A, B].map((id) => admissions.roomOf(id))).toEqual([16, ROOM.first]);
  });
});

describe('the lane of a delivery', () => {
  test('is the slow one while its webhook fails or is stuck', () => {
    admissions.observe(claimed(8));
    expect(lanesOf(claimed(4, { failing: true }))).toEqual({ fast: 0, slow: 4 });
    expect(lanesOf(claimed(4, { stuck: true }))).toEqual({ fast: 0, slow: 4 });
  });

  test('of a webhook not yet seen to answer is the fast one for two at a time only', () => {
    expect(lanesOf(claimed(8))).toEqual({ fast: 2, slow: 6 });
    expect(lanesOf(claimed(3, { webhookId: B, inFlight: 1 }))).toEqual({ fast: 1, slow: 2 });
    expect(lanesOf(claimed(3, { webhookId: C, inFlight: 2 }))).toEqual({ fast: 0, slow: 3 });
  });

  test('is the fast one once it has ended some', () => {
    admissions.observe(claimed(8));
    expect(lanesOf(claimed(8, { inFlight: 7 }))).toEqual({ fast: 8, slow: 0 });
  });

  test('after a failure must be earned again', () => {
    for (const more of [{}, {}, { failing: true }]) admissions.observe(claimed(4, more));
    expect(lanesOf(claimed(4, { inFlight: 4 }))).toEqual({ fast: 0, slow: 4 });
    expect(lanesOf(claimed(4, { inFlight: 0 }))).toEqual({ fast: 4, slow: 0 });
  });

  test('is decided for every delivery, in their order', () => {
    const deliveries = [...claimed(3), ...claimed(2, { webhookId: B, stuck: true })];
    const lanes = admissions.observe(deliveries);
    expect([...(lanes.get('fast') ?? []), ...(lanes.get('slow') ?? [])]).toEqual(deliveries);
    expect([...admissions.observe([]).values()]).toEqual([[], []]);
  });
});

describe('the order to claim in', () => {
  test('is those never served, then those served least lately', () => {
    admissions.observe(claimed(1, { webhookId: B }));
    admissions.observe(claimed(1, { webhookId: A }));
    expect(admissions.inOrder([A, B, C])).toEqual([C, B, A]);
    admissions.observe(claimed(1, { webhookId: B }));
    expect(admissions.inOrder([A, B, C])).toEqual([C, A, B]);
  });

  test('of equals is as it was', () => {
    expect(admissions.inOrder([C, A, B])).toEqual([C, A, B]);
  });
});
