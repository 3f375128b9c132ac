import { expect } from '@jest/globals';
import type { Noun } from '@postrider/domain';

/** What the contract lets one route answer. Kinds of answers are written as `Verdict` has them. */
export interface RouteLaw {
  /** Anybody may ask a route without a key. */
  readonly keyed: boolean;
  /** Whether the key's rate limit does not apply (contract 8, rule 3). */
  readonly unlimited?: true;
  /** What the path's `:id` names. */
  readonly noun?:
    | Extract<Noun, 'webhook' | 'deadLetter' | 'email' | 'domain' | 'topic' | 'suppression'>
    /** Of a link to unsubscribe. */
    | 'token';
  readonly success: string;
  /** What a request that asks for what is there already gets. */
  readonly again?: string;
  /** Beside those of the key, the limit and the scope. */
  readonly refusals: readonly string[];
  readonly body?: BodyLaw;
  /** Whether its `validation-failed` has `errors` (contract 7.1: only the send routes). */
  readonly listsFaults?: true;
  /** Whether an Idempotency-Key makes a repetition harmless. */
  readonly idempotent?: true;
  /** Whether the query chooses a page, and can be wrong. */
  readonly paged?: true;
  /** Asserts the shape of a success. */
  readonly judge: (document: Readonly<Record<string, unknown>>) => void;
}

export interface BodyLaw {
  /** Each of them is accepted; the last is swept: every value of it spoiled in turn. */
  readonly valid: readonly object[];
  readonly bytesMax: number;
  /** The answer to what is longer, by a little. */
  readonly tooLarge: string;
  /** The answer to what is no JSON. */
  readonly unreadable: string;
  /** Whether a body may be empty. */
  readonly mayBeEmpty?: true;
  /** Whether it is no matter what a body is. */
  readonly unparsed?: true;
  /** The field that a body must have, and the answer to one without; null where that is a fault like others. */
  readonly lacking: { readonly field: string; readonly kind: string } | null;
}

/** Stands in every valid body, and must not stand in a log. */
export const MARK = 'mark-of-a-body';

export const ID = (prefix: string) =>
  expect.stringMatching(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`)) as unknown;
export const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;
