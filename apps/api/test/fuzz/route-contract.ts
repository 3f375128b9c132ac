import { expect } from '@jest/globals';
import type { Noun } from '@postrider/domain';
import type { Change } from './json-text.ts';

/** What the contract lets one route answer. Kinds of answers are written as `Verdict` has them. */
export interface RouteContract {
  /** Anybody may ask a route without a key. */
  readonly keyed: boolean;
  /** Whether the key's rate limit does not apply (contract 8, rule 3). */
  readonly unlimited?: true;
  /** Whether a test key may ask it. */
  readonly ofMail?: true;
  /** What the path's `:id` names. */
  readonly noun?:
    | Extract<
        Noun,
        | 'webhook'
        | 'deadLetter'
        | 'email'
        | 'domain'
        | 'topic'
        | 'suppression'
        | 'inbox'
        | 'message'
        | 'routingRule'
        | 'blockedSender'
      >
    | 'heldMessage'
    /** An inbox with one thread, which has one message. */
    | 'threadedInbox'
    /** A webhook with one event, which has one attempt. */
    | 'eventedWebhook'
    /** A webhook with one recovery, which is running. */
    | 'recoveredWebhook'
    /** Of a link to unsubscribe. */
    | 'token'
    /** Of a link to the bytes of a message. */
    | 'link';
  readonly success: string;
  /** What a request that asks for what is there already gets. */
  readonly again?: string;
  /** What one with a `Range` gets. */
  readonly part?: string;
  /** What one gets whose path names nothing that is there. Default: `404 not-found`. */
  readonly absent?: '404 link-expired';
  /** Beside those of the key, the limit and the scope. */
  readonly refusals: readonly string[];
  readonly body?: BodyContract;
  /** Whether its `validation-failed` has `errors` (contract 7.1: only the send routes). */
  readonly listsFaults?: true;
  /** Whether an Idempotency-Key makes a repetition harmless. */
  readonly idempotent?: true;
  /** Whether the query chooses a page, and can be wrong. */
  readonly paged?: true;
  /** What its query may have: to each name values that are accepted. */
  readonly parameters?: Readonly<Record<string, readonly string[]>>;
  /** The query of a request that nothing is wrong with. Its parameters are required. Absent: none is. */
  readonly query?: string;
  /** Whether a parameter that it does not know is refused. */
  readonly strictQuery?: true;
  /** Asserts the shape of a success. */
  readonly judge: (document: Readonly<Record<string, unknown>>) => void;
}

export interface BodyContract {
  /** Each of them is accepted; the last is swept: every value of it spoiled in turn. */
  readonly valid: readonly object[];
  /** Changes of the first valid body that chance would seldom make. */
  readonly spoilt?: readonly Change[];
  readonly bytesMax: number;
  /** The answer to what is longer, by a little. */
  readonly tooLarge: string;
  /** The answer to what is no JSON. */
  readonly unreadable: string;
  /** Whether a body may be empty. */
  readonly mayBeEmpty?: true;
  /** Whether it names something of the live key's account: to other accounts, and changed, that is missing. */
  readonly names?: true;
  /** Whether it is no matter what a body is. */
  readonly unparsed?: true;
  /** What a body must have, and the answer to one without; null where that is a fault like others. */
  readonly lacking: Lacking | null;
}

interface Lacking {
  readonly fields: readonly string[];
  readonly kind: string;
  /** A body that is no object lacks them, too. */
  readonly object?: true;
  /** The route looks for what its path names first. */
  readonly afterPath?: true;
}

/** A webhook of the live key's account, which bodies can name. */
export const FUZZED_WEBHOOK = 'wh_01jd0000000000000000000042';

/** Stands in every valid body, and must not stand in a log. */
export const MARK = 'mark-of-a-body';

export const ID = (prefix: string) =>
  expect.stringMatching(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`)) as unknown;
/** The secrets of a webhook, in the answer to its creation. */
export const SECRETS = {
  signing_secret: expect.stringMatching(/^whsec_[\w-]{43}$/) as unknown,
  standard_secret: expect.stringMatching(/^whsec_[\w+/]{66}==$/) as unknown,
};
export const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;
