/** A mechanism of the flow control that `--without` takes out of relay and worker before a run. */
export interface Mechanism {
  /** What the code does without it. */
  readonly without: string;
  readonly changes: readonly SourceChange[];
}

/** A change of one source file. */
export interface SourceChange {
  /** The path from the root of the repository. */
  readonly file: string;
  /** A text that stands once in the file. */
  readonly from: string;
  readonly to: string;
}

const DELIVERY = 'apps/relay/src/delivery';
const FAIR_SHARES = `${DELIVERY}/fair-shares.ts`;
const FLIGHT_TIME = `${DELIVERY}/flight-time.ts`;
const DELIVERY_PASS = `${DELIVERY}/delivery-pass.ts`;
const WEBHOOK_STATE = `${DELIVERY}/webhook-state.ts`;
const CLAIM = 'packages/store/src/deliveries/sql/claim-deliveries.ts';
const SETTINGS = 'packages/runtime/src/config/settings/delivery.ts';

/** The names are the ones of `npm run bench -- --without NAME` and of docs/ablation.md. */
export const MECHANISMS: Readonly<Record<string, Mechanism>> = {
  batches: {
    without: 'a BullMQ job carries one delivery in both lanes',
    changes: [change('packages/queue/src/batches.ts', 'BATCH_MAX = 16', 'BATCH_MAX = 1')],
  },
  'lone-slow-jobs': {
    without: 'a BullMQ job of the slow lane carries up to 16 deliveries, as one of the fast lane does',
    changes: [change(DELIVERY_PASS, 'alone: slow', 'alone: false')],
  },
  'fetches-at-once': {
    without: 'a consumer fetches one job after the other',
    changes: [change('packages/queue/src/job-fetcher.ts', 'BUSY_FETCHES = 4', 'BUSY_FETCHES = 1')],
  },
  'group-commit': {
    without: 'each delivery has its own statements',
    changes: [change('apps/worker/src/grouped.ts', 'SIZE_MAX = 200', 'SIZE_MAX = 1')],
  },
  'attempts-per-slot': {
    without: 'a worker makes as many attempts at once as it has slots, instead of seven times as many',
    changes: [change(SETTINGS, 'ATTEMPTS_PER_SLOT = 7', 'ATTEMPTS_PER_SLOT = 1')],
  },
  'slow-lane': {
    without: 'failing and hanging endpoints share the fast lane with all others',
    changes: [
      change(WEBHOOK_STATE, 'this.#isFailing || this.#hangs', 'false'),
      change(CLAIM, 'a.slow or w.failing_since is not null as slow', 'a.slow'),
    ],
  },
  hanging: {
    without: 'only a failing endpoint uses the slow lane, not one that hangs',
    changes: [change(WEBHOOK_STATE, 'stuck >= Math.min(HANGS_AT_STUCK, limit / 2)', 'false')],
  },
  'failing-limit': {
    without: 'a failing endpoint keeps the limit that it had',
    changes: [change(WEBHOOK_STATE, 'report.failing ? FIRST_LIMIT : ', '')],
  },
  'first-limit': {
    without: 'a webhook that the relay does not know begins with its part of all slots',
    changes: [change(WEBHOOK_STATE, 'grownLimit = FIRST_LIMIT;', 'grownLimit = 1_000_000;')],
  },
  growth: {
    without: 'the limit of a webhook grows to its part when its first delivery has ended',
    changes: [change(WEBHOOK_STATE, 'GROWTH = 2;', 'GROWTH = 1_000_000;')],
  },
  'quick-limit': {
    without: 'an endpoint that answers quickly may use all that its account may',
    changes: [change(FAIR_SHARES, 'QUICK_FRACTION = 1 / 16;', 'QUICK_FRACTION = 1_000_000;')],
  },
  'shortest-mean': {
    without: 'the mean time in flight alone says whether an endpoint is quick',
    changes: [
      change(FLIGHT_TIME, 'Math.min(this.#shortestMs, this.meanMs(inFlight)) <=', 'this.meanMs(inFlight) <='),
    ],
  },
  'account-share': {
    without: 'one account may use all slots',
    changes: [change(SETTINGS, 'ACCOUNT_SHARE = 1 / 4', 'ACCOUNT_SHARE = 1')],
  },
  'own-part': {
    without: 'a webhook has no part of its own, and gets nothing while its account has used its share',
    changes: [
      change(FAIR_SHARES, 'Math.max(1, Math.floor(ofAccount / (account.busyWebhooks + starting)))', '0'),
    ],
  },
  'one-account': {
    without: 'the share of an account limits it also while no other account needs its share',
    changes: [change(FAIR_SHARES, "lane === 'fast' && others === 0 ? slots : ", '')],
  },
  'low-water-marks': {
    without: 'each claim reads the index of a webhook from its start',
    changes: [change(WEBHOOK_STATE, 'this.lowWaterMark = report.lowWaterMark;', 'this.lowWaterMark = null;')],
  },
  rest: {
    without: 'the relay claims again at once after a claim that took long',
    changes: [change(DELIVERY_PASS, 'answeredMs + (answeredMs - beganMs)', 'answeredMs')],
  },
  'full-check': {
    without: 'a webhook at its limit is checked every 10 ms',
    changes: [change(WEBHOOK_STATE, 'AT_LIMIT_CHECK_FRACTION = 1 / 8', 'AT_LIMIT_CHECK_FRACTION = 0')],
  },
  'webhooks-per-lane': {
    without: 'a claim asks for all webhooks that are due for a check',
    changes: [change(DELIVERY_PASS, 'WEBHOOKS_PER_LANE = 64', 'WEBHOOKS_PER_LANE = 1_000_000')],
  },
  'look-ahead': {
    without: 'a retry waits in Postgres until it is due, and no job is delayed',
    changes: [change(WEBHOOK_STATE, 'LOOK_AHEAD_MS = 60_000', 'LOOK_AHEAD_MS = 0')],
  },
};

function change(file: string, from: string, to: string): SourceChange {
  return { file, from, to };
}
