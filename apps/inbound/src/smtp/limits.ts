import { LIMITS } from '@postrider/domain';

const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

export const DEFAULT_LIMITS = {
  /**
   * Open sessions. For a further one, the session that has waited longest for a command gets 421. When none
   * waits, the further one gets it. This limit bounds sockets and the TLS memory of each.
   * `bytesUnderWayMax` bounds the messages.
   */
  sessionsMax: 200,
  /**
   * Open sessions that one client address, or one IPv6 /64, may always have. It may have more as long as it
   * has fewer than are still free. A further one gets 421. One host opens at most 20 connections to another
   * (Postfix: `smtp_destination_concurrency_limit` 20), but a large sender may have all its hosts in one /64.
   */
  sessionsPerClientMin: 20,
  /**
   * MAIL commands in one session. A further one gets 421. A busy client reconnects after 100 messages. No
   * client can hold a session forever.
   */
  messagesPerSessionMax: 100,
  /**
   * Recipients per message. A further one gets 452 4.5.3. From the contract of inbound mail. Postfix sends at
   * most 50 at a time (`smtp_destination_recipient_limit` 50).
   */
  recipientsMax: 50,
  /**
   * Bytes per message, announced as SIZE. A longer message gets 552 5.3.4. Contract, section 8: 10 MiB for a
   * received message.
   */
  messageBytesMax: LIMITS.receivedBytes,
  /**
   * Bytes of all messages in flight. A quarter is reserved for the first `smallMessageBytes` of each message.
   * In both parts, one client address, or one IPv6 /64, may hold as many as are still free. Beyond these
   * limits, MAIL or DATA gets 451. Space for nine of the largest messages, and for 256 small ones, half
   * of these for one client. Parsing needs about as much again.
   */
  bytesUnderWayMax: 128 * MIB,
  /** Two blocks of the message buffer. In all sessions together they fit into the reserved quarter. */
  smallMessageBytes: MIB / 8,
  /**
   * Bytes per command. A longer one gets 421. RFC 5321 requires 512 bytes. Its extensions DSN and SMTPUTF8
   * together add about 600.
   */
  commandLineBytesMax: 2_048,
  /**
   * Time from an answer to the end of the next command. Then the client gets 421. RFC 5321, 4.5.3.2.7: at
   * least 5 minutes.
   */
  commandTimeoutMs: 5 * MINUTE_MS,
  /**
   * Time for a whole message, from 354 to the final dot. Then the client gets 421. Enough for 10 MiB at 18
   * KB/s.
   */
  dataTimeoutMs: 10 * MINUTE_MS,
  /**
   * Every `dataPeriodMs` of a message must bring this many bytes. Otherwise the client gets 421. It is 1
   * KiB/s. A slower client would hold memory and a session for ten minutes.
   */
  dataPeriodBytesMin: 30 * KIB,
  dataPeriodMs: 30 * SECOND_MS,
  /**
   * Time for the sink to judge a recipient. Then the client gets 451. A client waits 5 minutes for the answer
   * to RCPT (RFC 5321, 4.5.3.2.3).
   */
  acceptsTimeoutMs: 30 * SECOND_MS,
  /**
   * Time for the sink to receive a message. Then the client gets 451. A client waits 10 minutes after the
   * final dot (4.5.3.2.6); impatient clients wait 2.
   */
  receiveTimeoutMs: 90 * SECOND_MS,
  /**
   * 4xx and 5xx answers in one session, without 452. After the last one the client gets 421. One message to
   * 50 unknown recipients passes. The next one hits the limit.
   */
  errorsPerSessionMax: 60,
  /**
   * Answers between two accepted messages. After the last one the client gets 421. RFC 5321, 4.5.3.1.8
   * requires a server to accept 100 recipients. Those over 50 get 452 and must not end the session.
   */
  commandsPerMessageMax: 1_000,
};

export type InboundLimits = Readonly<Record<keyof typeof DEFAULT_LIMITS, number>>;
