import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import type { ClaimedDelivery } from '@postrider/store';
import { createAdmissions, ROOM } from './admission.ts';
import type { Admissions } from './admission.ts';

const [A, B, C] = ['wh_a', 'wh_b', 'wh_c'] as [WebhookId, WebhookId, WebhookId];

let admissions: Admissions;
let now: number;
beforeEach(() => {
  now = 0;
  admissions = createAdmissions(() => now);
});

function claimed(count: number, more: Partial<ClaimedDelivery> = {}): ClaimedDelivery[] {
  return Array.from({ length: count }, (_, n) => ({
    deliveryId: String(n),
    claim: 0,
    webhookId: A,
    inFlight: 0,
    seen: (more.inFlight ?? 0) + count,
    stuck: false,
    failing: false,
    slow: false,
    lapsed: false,
    leftOut: false,
    attemptsMade: 0,
    delayMs: 0,
    lateMs: 0,
    ...more,
  }));
}

describe('the room of a webhook', () => {
  test('begins small, grows by what each round has ended, and has a bound', () => {
    const rooms = [admissions.of(A).room];
    for (let round = 0; round < 8; round += 1) {
      admissions.observe(claimed(admissions.of(A).room));
      rooms.push(admissions.of(A).room);
    }
    expect(rooms).toEqual([8, 8, 16, 24, 40, 64, 104, 168, 256]);
    admissions.observe(claimed(256));
    expect(admissions.of(A).room).toBe(ROOM.most);
  });

  test('of a quick endpoint is smaller while others are served, and for two seconds after', () => {
    for (let round = 0; round < 9; round += 1) admissions.observe(claimed(admissions.of(A).room));
    admissions.observe(claimed(1, { webhookId: B }));
    admissions.observe(claimed(100, { inFlight: 20 }));
    expect(admissions.of(A).room).toBe(ROOM.shared);
    now += 1_999;
    admissions.observe(claimed(20));
    expect(admissions.of(A).room).toBe(ROOM.shared);
    now += 1;
    admissions.observe(claimed(20));
    expect(admissions.of(A).room).toBeGreaterThan(ROOM.shared);
  });

  test('of an endpoint that takes its time is not: it needs more in hand to be busy', () => {
    serve(100, 60);
    admissions.observe(claimed(1, { webhookId: B }));
    serve(5, 60);
    expect(admissions.of(A).room).toBe(ROOM.most);
  });

  test('grows by as many as ended since the last claim, not by those still in hand', () => {
    admissions.observe(claimed(8));
    admissions.observe(claimed(3, { inFlight: 5 }));
    expect(admissions.of(A).room).toBe(11);
    admissions.observe(claimed(3, { inFlight: 8 }));
    expect(admissions.of(A).room).toBe(11);
  });

  test('falls back at once when it fails, and begins to grow anew when it answers again', () => {
    for (let round = 0; round < 5; round += 1) admissions.observe(claimed(admissions.of(A).room));
    admissions.observe(claimed(1, { failing: true }));
    expect(admissions.of(A).room).toBe(ROOM.failing);
    admissions.observe(claimed(4));
    admissions.observe(claimed(4));
    expect(admissions.of(A).room).toBe(ROOM.failing + 5);
  });

  test('is cut while an attempt is stuck', () => {
    for (let round = 0; round < 6; round += 1) admissions.observe(claimed(admissions.of(A).room));
    admissions.observe(claimed(1, { stuck: true, inFlight: 20 }));
    expect(admissions.of(A).room).toBe(ROOM.stuck);
  });

  /** Rounds in which as many of what is in hand end as their time in hand leaves, and the room is filled again. */
  function serve(rounds: number, heldMs: number, roundMs = 20): number {
    for (let round = 0; round < rounds; round += 1) {
      const room = Math.floor(admissions.of(A).room);
      const ended = Math.max(1, Math.min(room - 1, Math.round((room * roundMs) / heldMs)));
      now += roundMs;
      admissions.observe(claimed(ended, { inFlight: room - ended }));
    }
    return admissions.of(A).room;
  }

  test('grows to its bound while a delivery is in hand for a short time', () => {
    expect(serve(100, 60)).toBe(ROOM.most);
  });

  test('grows to its bound with an endpoint that always takes long', () => {
    expect(serve(100, 900, 300)).toBe(ROOM.most);
  });

  test('is not shrunk by a relay that comes round seldom: what has mostly ended may have ended long ago', () => {
    serve(100, 60);
    for (let round = 0; round < 100; round += 1) {
      now += 300;
      admissions.observe(claimed(100, { inFlight: 28 }));
    }
    expect(admissions.of(A).room).toBe(ROOM.most);
  });

  test('grows again after one long pause of the relay, when every round ends whole', () => {
    serve(100, 60);
    serve(100, 300); // crowded
    expect(admissions.of(A).room).toBe(ROOM.crowded);
    for (let round = 0; round < 100; round += 1) {
      now += 20;
      admissions.observe(claimed(admissions.of(A).room));
    }
    expect(admissions.of(A).room).toBe(ROOM.most);
  });

  test('shrinks when deliveries are in hand for far longer than before, and grows again afterwards', () => {
    serve(100, 60);
    expect(serve(100, 300)).toBe(ROOM.crowded);
    expect(serve(1_000, 300)).toBe(ROOM.crowded);
    expect(serve(100, 60)).toBe(ROOM.most);
  });

  test('grows again with an endpoint that has become slower for good, after some minutes', () => {
    serve(100, 60);
    expect(serve(100_000, 300)).toBe(ROOM.most);
  });

  test('that shrinks takes what it no longer looks at for still in hand', () => {
    serve(100, 60);
    admissions.observe(claimed(1, { stuck: true, inFlight: 127 }));
    expect(admissions.of(A).room).toBe(ROOM.stuck);
    admissions.observe(claimed(1, { inFlight: 31 }));
    expect(admissions.of(A).room).toBe(ROOM.stuck + 1);
  });

  test('is not shrunk by a lost queue: what a lease brought back had waited for the lease', () => {
    serve(100, 60);
    now += 30_000;
    admissions.observe(claimed(100, { lapsed: true, inFlight: 10 }));
    expect(admissions.of(A).room).toBe(ROOM.most);
  });

  test('is full when a claim got all of it', () => {
    expect(admissions.isFull(A)).toBe(false);
    admissions.observe(claimed(7));
    expect(admissions.isFull(A)).toBe(false);
    admissions.observe(claimed(1, { inFlight: 7 }));
    expect(admissions.isFull(A)).toBe(true);
  });

  test('is full of what a claim has seen, also where another relay got most of it', () => {
    admissions.observe(claimed(1, { seen: ROOM.first }));
    expect(admissions.isFull(A)).toBe(true);
  });

  test('is full also of deliveries that wait for their time: the next may be due right behind them', () => {
    admissions.observe(claimed(2, { failing: true, delayMs: 30_000 }));
    expect(admissions.isFull(A)).toBe(false);
    admissions.observe(claimed(2, { failing: true, delayMs: 30_000, seen: 4 }));
    expect(admissions.isFull(A)).toBe(true);
  });

  test('is not cut by waiting below a bound that leaves a busy webhook its rate', () => {
    serve(3, 20);
    expect(serve(100, 300)).toBe(ROOM.crowded);
  });

  test('does not take a rest for waiting: nobody knows when those ended that have all ended', () => {
    serve(100, 60);
    now += 60_000;
    admissions.observe(claimed(1));
    expect(admissions.of(A).room).toBe(ROOM.most);
  });

  test('does not grow by what was lost: deliveries that come back have not ended', () => {
    admissions.observe(claimed(8));
    admissions.observe(claimed(8, { lapsed: true }));
    expect(admissions.of(A).room).toBe(ROOM.first);
  });

  test('does not grow by what could not be queued', () => {
    for (let round = 0; round < 5; round += 1) {
      const deliveries = claimed(8);
      admissions.observe(deliveries);
      admissions.takeBack(deliveries);
    }
    expect(admissions.of(A)).toEqual({ webhookId: A, room: ROOM.first, fastRoom: 1 });
  });

  test('is each webhook’s own', () => {
    admissions.observe([...claimed(8), ...claimed(8, { webhookId: B })]);
    admissions.observe([...claimed(8), ...claimed(8, { webhookId: B, failing: true })]);
    expect([A, B, C].map((id) => admissions.of(id).room)).toEqual([16, ROOM.failing, ROOM.first]);
  });

  test('of webhooks beyond 50,000 is forgotten, the one longest not claimed for first', () => {
    for (const webhookId of [A, B]) {
      admissions.observe(claimed(8, { webhookId }));
      admissions.observe(claimed(8, { webhookId }));
    }
    for (let n = 0; n < 49_998; n += 1) admissions.observe(claimed(1, { webhookId: `wh_${n}` as WebhookId }));
    admissions.observe(claimed(1, { inFlight: 16 })); // A is used again; B is the oldest now
    admissions.observe(claimed(1, { webhookId: C }));
    expect([A, B].map((id) => admissions.of(id).room)).toEqual([16, ROOM.first]);
  });
});

describe('the room in the fast lane', () => {
  const fastRoom = () => admissions.of(A).fastRoom;

  test('is one until the webhook has ended some, and then all of its room', () => {
    expect(fastRoom()).toBe(1);
    admissions.observe(claimed(8));
    expect(fastRoom()).toBe(1);
    admissions.observe(claimed(8, { inFlight: 7 }));
    expect(fastRoom()).toBe(admissions.of(A).room);
  });

  test('stays one with deliveries that were only delayed, or come back lapsed', () => {
    admissions.observe(claimed(4, { delayMs: 30_000 }));
    admissions.observe(claimed(2));
    admissions.observe(claimed(2, { lapsed: true }));
    expect(admissions.of(A)).toEqual({ webhookId: A, room: ROOM.first, fastRoom: 1 });
  });

  test('is one after a failure, until it has ended some again', () => {
    for (const more of [{}, {}, { failing: true }]) admissions.observe(claimed(4, more));
    admissions.observe(claimed(4, { inFlight: 4 }));
    expect(fastRoom()).toBe(1);
    admissions.observe(claimed(4, { inFlight: 0 }));
    expect(fastRoom()).toBe(admissions.of(A).room);
  });

  test('is none once an attempt hangs, nor for what follows when all have run out of time', () => {
    admissions.observe(claimed(8));
    admissions.observe(claimed(8));
    admissions.suspect(A);
    expect(fastRoom()).toBe(0);
    admissions.observe(claimed(8)); // the eight before have ended, by their time limit
    expect(fastRoom()).toBe(0);
    admissions.suspect(A);
    admissions.observe(claimed(8));
    expect(fastRoom()).toBe(0);
  });

  test('is all again when attempts have ended that were begun after it hung', () => {
    admissions.observe(claimed(8));
    admissions.suspect(A);
    admissions.observe(claimed(3, { stuck: true, inFlight: 5 }));
    admissions.observe(claimed(3, { stuck: true, inFlight: 5 }));
    expect(fastRoom()).toBe(0);
    admissions.observe(claimed(5, { inFlight: 3 }));
    expect(fastRoom()).toBe(admissions.of(A).room);
  });

  test('is not cut by one claim that finds an attempt slow: the database may have been, and the claim has seen to it', () => {
    admissions.observe(claimed(8));
    admissions.observe(claimed(8));
    admissions.observe(claimed(3, { stuck: true, inFlight: 5 }));
    expect(fastRoom()).toBe(admissions.of(A).room);
  });

  test('is none from the beginning where an attempt hangs that another relay handed out', () => {
    admissions.suspect(A);
    expect(fastRoom()).toBe(0);
  });
});

describe('the lane that a webhook’s deliveries go to', () => {
  test('is known once it answers, fails or hangs', () => {
    expect(admissions.laneOf(A)).toBeNull();
    admissions.observe(claimed(8));
    expect(admissions.laneOf(A)).toBeNull();
    admissions.observe(claimed(8));
    expect(admissions.laneOf(A)).toBe('fast');
    admissions.suspect(A);
    expect(admissions.laneOf(A)).toBe('slow');
    admissions.observe(claimed(1, { failing: true }));
    expect(admissions.laneOf(A)).toBe('slow');
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
