/** How much of everything. The full sizes are the published ones; the quick ones try the tool. */
export interface Sizes {
  /** Fresh events of one drained burst, and posts of the yardstick's. */
  readonly burst: number;
  /** Where events are recorded at a steady rate. */
  readonly eventsPerSecond: number;
  /** Of one run at that rate. */
  readonly latencySeconds: number;
  /** How long each number of workers has work. */
  readonly scalingSeconds: number;
  readonly scalingWorkers: readonly number[];
  readonly scalingEndpoints: number;
  readonly backlog: number;
  readonly backlogWebhooks: number;
  /** Redis’ memory has settled when it has not risen for so long. */
  readonly redisSettledSeconds: number;
  readonly redisUntilDueSeconds: number;
  readonly memoryDeliveries: number;
  readonly commitSeconds: number;
  /** Messages of one round, and requests of the yardstick's. */
  readonly sends: number;
  readonly isolation: {
    /** Of one run of the healthy endpoint. */
    readonly seconds: number;
    /** How long the load lasts before that. */
    readonly leadInSeconds: number;
    readonly oneEndpointQueue: number;
    readonly hangingEndpoints: number;
    readonly hangingQueue: number;
    readonly floodQueue: number;
    readonly deadEndpoints: number;
  };
}

export const FULL: Sizes = {
  burst: 20_000,
  eventsPerSecond: 200,
  latencySeconds: 8,
  scalingSeconds: 6,
  scalingWorkers: [1, 2, 4, 8],
  scalingEndpoints: 64,
  backlog: 1_000_000,
  backlogWebhooks: 1_000,
  redisSettledSeconds: 4,
  redisUntilDueSeconds: 60,
  memoryDeliveries: 200_000,
  commitSeconds: 2,
  sends: 4_000,
  isolation: {
    seconds: 8,
    leadInSeconds: 3,
    oneEndpointQueue: 20_000,
    hangingEndpoints: 200,
    hangingQueue: 100,
    floodQueue: 200_000,
    deadEndpoints: 5_000,
  },
};

export const QUICK: Sizes = {
  burst: 400,
  eventsPerSecond: 30,
  latencySeconds: 1,
  scalingSeconds: 1,
  scalingWorkers: [1, 2],
  scalingEndpoints: 8,
  backlog: 10_000,
  backlogWebhooks: 50,
  redisSettledSeconds: 1.5,
  redisUntilDueSeconds: 1.5,
  memoryDeliveries: 20_000,
  commitSeconds: 0.3,
  sends: 200,
  isolation: {
    seconds: 1,
    leadInSeconds: 1,
    oneEndpointQueue: 500,
    hangingEndpoints: 5,
    hangingQueue: 10,
    floodQueue: 2_000,
    deadEndpoints: 50,
  },
};
