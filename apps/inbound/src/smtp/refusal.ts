/**
 * The reason of a 4xx or 5xx answer. It is a metric label, so the list is closed.
 *
 * - `unavailable`: the recipient could not be checked, or the pipeline threw or did not end in time. The
 *   pipeline may still count that message in its own metric.
 * - `not_received`: the pipeline's metric says why.
 */
export type RefusalReason =
  | 'command_timeout'
  | 'data_timeout'
  | 'data_too_slow'
  | 'memory'
  | 'messages_per_session'
  | 'not_received'
  | 'protocol'
  | 'recipients'
  | 'refused_by_intake'
  | 'sessions'
  | 'sessions_per_address'
  | 'size'
  | 'stopping'
  | 'too_many_commands'
  | 'too_many_errors'
  | 'unavailable'
  | 'unknown_recipient';

/** A 4xx or 5xx answer. smtp-server sends `responseCode` and `message`. A 421 ends the session. */
export class Refusal extends Error {
  readonly responseCode: number;
  readonly reason: RefusalReason;
  /**
   * The name that smtp-server has for an enhanced status code. Without it, the response code decides (550 is
   * 5.1.1, 451 is 4.3.0).
   */
  readonly context: string | undefined;

  constructor(responseCode: number, reason: RefusalReason, words: string, context?: string) {
    super(words);
    this.responseCode = responseCode;
    this.reason = reason;
    this.context = context;
  }
}

export const MESSAGE_TOO_BIG = 'MESSAGE_TOO_BIG'; // 5.3.4
