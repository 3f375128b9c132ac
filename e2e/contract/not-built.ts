/** A row of the contract that no request can reach yet, and what it waits for. It is counted as `todo`. */
export interface NotBuilt {
  readonly notBuilt: string;
}

/** Of inbound mail these do not exist: threads, replies, routing rules. */
export const INBOUND: NotBuilt = { notBuilt: 'inbound mail' };
