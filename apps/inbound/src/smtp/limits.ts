import { LIMITS } from '@postrider/domain';

const MIB = 1024 * 1024;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

export interface InboundLimits {
  /** Sessions at a time; one more hears 421. */
  readonly sessionsMax: number;
  /** Sessions at a time from one IPv4 address or one IPv6 /64; one more hears 421. */
  readonly sessionsPerAddressMax: number;
  /** MAIL commands in one session; one more hears 421. */
  readonly messagesPerSessionMax: number;
  /** Recipients of one message; one more hears 452 4.5.3. */
  readonly recipientsMax: number;
  /** Announced as SIZE; a longer message hears 552 5.3.4. */
  readonly messageBytesMax: number;
  /** Bytes of all messages under way; beyond it MAIL or DATA hears 451. */
  readonly bytesUnderWayMax: number;
  /** Bytes of one command; a longer one hears 421. */
  readonly commandLineBytesMax: number;
  /** From an answer to the end of the next command; then 421. */
  readonly commandTimeoutMs: number;
  /** For the whole of a message, from 354 to the final dot; then 421. */
  readonly dataTimeoutMs: number;
  /** For the intake to judge a recipient; then 451. */
  readonly acceptsTimeoutMs: number;
  /** For the intake to receive a message; then 451. */
  readonly receiveTimeoutMs: number;
  /** Answers of 4xx and 5xx in one session, 452 apart; the last is followed by 421. */
  readonly errorsPerSessionMax: number;
  /** Answers between two accepted messages; the last is followed by 421. */
  readonly commandsPerMessageMax: number;
}

const SESSIONS_MAX = 200;

export const DEFAULT_LIMITS: InboundLimits = {
  /** Messages under way have a limit of their own; this one bounds sockets, and what TLS keeps for each. */
  sessionsMax: SESSIONS_MAX,
  /** What large senders open at most to one host (Postfix: `smtp_destination_concurrency_limit` 20). */
  sessionsPerAddressMax: 20,
  /** A client with many messages connects anew once in 100; a client that holds a session cannot do so for ever. */
  messagesPerSessionMax: 100,
  /** The contract of inbound mail. Postfix sends no more at a time (`smtp_destination_recipient_limit` 50). */
  recipientsMax: 50,
  /** The contract, section 8: 10 MiB a received message. */
  messageBytesMax: LIMITS.receivedBytes,
  /** Twelve of the largest messages; parsing takes about as much again. */
  bytesUnderWayMax: 128 * MIB,
  /** RFC 5321 asks for 512, its extensions add about 600 (DSN and SMTPUTF8 together). */
  commandLineBytesMax: 2_048,
  /** RFC 5321, 4.5.3.2.7: at least 5 minutes. */
  commandTimeoutMs: 5 * MINUTE_MS,
  /** 10 MiB at 18 KB/s. */
  dataTimeoutMs: 10 * MINUTE_MS,
  /** A client waits 5 minutes for the answer to RCPT (RFC 5321, 4.5.3.2.3). */
  acceptsTimeoutMs: 30 * SECOND_MS,
  /** A client waits 10 minutes after the final dot (4.5.3.2.6), impatient ones 2. */
  receiveTimeoutMs: 90 * SECOND_MS,
  /** One message to 50 unknown recipients passes, the next is cut. */
  errorsPerSessionMax: 60,
  /** RFC 5321, 4.5.3.1.8 asks to bear 100 recipients. Those over 50 hear 452 and must not end the session. */
  commandsPerMessageMax: 1_000,
};

/** Over LMTP one host in front sends everything: by address nothing is to be told apart. */
export const DEFAULT_LMTP_LIMITS: InboundLimits = { ...DEFAULT_LIMITS, sessionsPerAddressMax: SESSIONS_MAX };
