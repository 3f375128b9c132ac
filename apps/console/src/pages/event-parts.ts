import type { Account, EventStory, ListedAuditEntry } from '@postrider/store';

export type FoundEvent = EventStory['event'];

export interface EventParts {
  readonly story: EventStory;
  readonly account: Account | null;
  /** The deletions of webhooks that are gone. */
  readonly deletions: ReadonlyMap<string, ListedAuditEntry>;
}
