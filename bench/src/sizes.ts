/** The sizes of a run. The published pages use the full sizes; the quick ones try the tool. */
export interface Sizes {
  /** Hosts of the receiver, with a certificate each. */
  readonly hosts: number;
  /**
   * Requests, posts, deliveries or mails of each process before the rounds. Node 24 still optimizes the API's
   * code after 12,000 requests.
   */
  readonly warmUp: number;
  /** New events of one burst, and posts of the yardstick. */
  readonly burst: number;
  /** The load of figures with a steady rate of events. */
  readonly eventsPerSecond: number;
  /** The duration of one run at that rate. */
  readonly latencySeconds: number;
  /** The duration per number of workers. */
  readonly scalingSeconds: number;
  readonly scalingWorkers: readonly number[];
  readonly scalingEndpoints: number;
  readonly backlog: number;
  readonly backlogWebhooks: number;
  readonly oldSnapshot: {
    readonly perSecond: number;
    /** The duration of one round. */
    readonly seconds: number;
    /** Deliveries that begin and end while the snapshot is open. */
    readonly dead: number;
  };
  /** Redis’ memory is stable when it has not risen for this time. */
  readonly redisSettledSeconds: number;
  readonly redisUntilDueSeconds: number;
  readonly memoryDeliveries: number;
  readonly commitSeconds: number;
  /** Requests per round to the API, and as many to its yardstick. */
  readonly sends: number;
  /** Messages that `hand-over` queues per round. */
  readonly mails: number;
  /** The time of its messages at the ideal rate. */
  readonly slowProviderSeconds: number;
  readonly inbound: {
    /** Messages per round: of 20 KB, and of 5 MB. */
    readonly small: number;
    readonly large: number;
    /** Messages of 20 KB at a steady rate. */
    readonly perSecond: number;
    /** The duration of one run at that rate. */
    readonly seconds: number;
  };
  readonly isolation: {
    /** The measured part of the load of the healthy endpoint. */
    readonly seconds: number;
    /** The part of that load before the measured one. */
    readonly leadInSeconds: number;
    readonly oneEndpointQueue: number;
    readonly hangingEndpoints: number;
    readonly hangingQueue: number;
    readonly floodQueue: number;
    readonly deadEndpoints: number;
    /** Per endpoint that answers late. */
    readonly lateQueue: number;
    /** Replaces `leadInSeconds` beside these endpoints. */
    readonly lateLeadInSeconds: number;
    readonly busyWebhooks: number;
    /** Per busy webhook. */
    readonly busyQueue: number;
  };
  readonly recovery: {
    /** Events per second of the two tenants. */
    readonly perSecond: { readonly A: number; readonly B: number };
    /** The load's duration before the disturbance. */
    readonly leadInSeconds: number;
    /** How long a worker is frozen. The start of a process takes less. */
    readonly frozenSeconds: number;
    /** The time after the disturbance in which the load must recover. */
    readonly withinSeconds: number;
    /** The duration of the compared load. */
    readonly windowSeconds: number;
  };
  readonly halfLoad: {
    /** Events that measure the capacity. */
    readonly capacityBurst: number;
    readonly seconds: number;
  };
  readonly retries: {
    /** Retries that become due within `withinSeconds`. */
    readonly pending: readonly number[];
    readonly withinSeconds: number;
    readonly webhooks: number;
  };
  readonly activeWebhooks: {
    readonly webhooks: number;
    /** Retries that come due. */
    readonly perSecond: number;
    /** The time before the measurement. Queueing the deliveries takes a part of it. */
    readonly leadInSeconds: number;
    readonly seconds: number;
  };
  readonly slowEndpoint: {
    readonly quickPerSecond: number;
    /** The load's duration before the measurement. */
    readonly leadInSeconds: number;
    readonly windowSeconds: number;
  };
}

export const FULL: Sizes = {
  hosts: 256,
  warmUp: 16_000,
  burst: 20_000,
  eventsPerSecond: 200,
  latencySeconds: 8,
  scalingSeconds: 6,
  scalingWorkers: [1, 2, 4, 8],
  scalingEndpoints: 12, // each may always have one in flight: more endpoints would exceed one worker's limit
  backlog: 1_000_000,
  backlogWebhooks: 1_000,
  oldSnapshot: { perSecond: 100, seconds: 8, dead: 1_000_000 },
  redisSettledSeconds: 4,
  redisUntilDueSeconds: 60,
  memoryDeliveries: 200_000,
  commitSeconds: 2,
  sends: 4_000,
  mails: 2_000,
  slowProviderSeconds: 6,
  inbound: { small: 400, large: 24, perSecond: 20, seconds: 8 },
  isolation: {
    seconds: 8,
    leadInSeconds: 3,
    oneEndpointQueue: 20_000,
    hangingEndpoints: 200,
    hangingQueue: 100,
    floodQueue: 200_000,
    deadEndpoints: 5_000,
    lateQueue: 1_000,
    lateLeadInSeconds: 19,
    busyWebhooks: 100,
    busyQueue: 100,
  },
  recovery: {
    perSecond: { A: 300, B: 80 },
    leadInSeconds: 1,
    frozenSeconds: 2,
    withinSeconds: 10,
    windowSeconds: 5,
  },
  halfLoad: { capacityBurst: 5_000, seconds: 6 },
  retries: { pending: [200, 5_000], withinSeconds: 30, webhooks: 100 },
  activeWebhooks: { webhooks: 200_000, perSecond: 100, leadInSeconds: 60, seconds: 60 },
  slowEndpoint: { quickPerSecond: 100, leadInSeconds: 5, windowSeconds: 10 },
};

export const QUICK: Sizes = {
  hosts: 52,
  warmUp: 200,
  burst: 400,
  eventsPerSecond: 30,
  latencySeconds: 0.5,
  scalingSeconds: 1,
  scalingWorkers: [1, 2],
  scalingEndpoints: 8,
  backlog: 10_000,
  backlogWebhooks: 50,
  oldSnapshot: { perSecond: 20, seconds: 5, dead: 10_000 },
  redisSettledSeconds: 1.5,
  redisUntilDueSeconds: 1.5,
  memoryDeliveries: 20_000,
  commitSeconds: 0.1,
  sends: 200,
  mails: 40,
  slowProviderSeconds: 0.1,
  inbound: { small: 8, large: 1, perSecond: 10, seconds: 0.5 },
  isolation: {
    seconds: 1,
    leadInSeconds: 1,
    oneEndpointQueue: 500,
    hangingEndpoints: 5,
    hangingQueue: 10,
    floodQueue: 2_000,
    deadEndpoints: 50,
    lateQueue: 20,
    lateLeadInSeconds: 1,
    busyWebhooks: 10,
    busyQueue: 20,
  },
  recovery: {
    perSecond: { A: 30, B: 8 },
    leadInSeconds: 0.5,
    frozenSeconds: 0.5,
    withinSeconds: 1,
    windowSeconds: 1,
  },
  halfLoad: { capacityBurst: 200, seconds: 1 },
  retries: { pending: [20, 200], withinSeconds: 3, webhooks: 10 },
  activeWebhooks: { webhooks: 1_000, perSecond: 50, leadInSeconds: 3, seconds: 2 },
  slowEndpoint: { quickPerSecond: 20, leadInSeconds: 1, windowSeconds: 1 },
};
