import type { Account, EventStory, ListedAuditEntry } from '@postrider/store';

export type FoundEvent = EventStory['event'];

export interface EventParts {
  readonly story: EventStory;
  /** Null: the account does not exist. */
  readonly account: Account | null;
  /** The audit entries of the deletions of webhooks, by webhook id. */
  readonly deletions: ReadonlyMap<string, ListedAuditEntry>;
}
