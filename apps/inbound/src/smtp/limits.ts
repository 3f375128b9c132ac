import { LIMITS } from '@postrider/domain';

const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

export const DEFAULT_LIMITS = {
  /**
   * Open sessions. When all are open, a new client takes the place of the session that has waited longest for
   * a command: that one gets 421. If none waits, the new client gets 421. This limits sockets and their TLS
   * memory. `bytesInFlightMax` limits the messages.
   */
  sessionsMax: 200,
  /**
   * A client is an address or an IPv6 /64. With fewer open sessions than this, its own sessions are no reason
   * to refuse it. From this number on, it gets 421 when it has as many sessions as are still free, or more.
   * One host opens at most 20 connections to another (Postfix: `smtp_destination_concurrency_limit` 20). But
   * a large sender may have all its hosts in one /64.
   */
  sessionsPerClientMin: 20,
  /**
   * MAIL commands in one session. A further one gets 421. A busy client reconnects after 100 messages. No
   * client can hold a session forever.
   */
  messagesPerSessionMax: 100,
  /**
   * Recipients per message, as the contract of inbound mail says. A further one gets 452 4.5.3. Postfix sends
   * at most 50 at a time (`smtp_destination_recipient_limit` 50).
   */
  recipientsMax: 50,
  /**
   * Bytes per message, announced as SIZE. A longer message gets 552 5.3.4. Contract, section 8: 10 MiB for a
   * received message.
   */
  messageBytesMax: LIMITS.receivedBytes,
  /**
   * Bytes of all messages in flight. A quarter is reserved for the first `smallMessageBytes` of each message:
   * enough for 256 small messages. The rest is enough for nine of the largest. In each part, one client may
   * hold as many bytes as are still free. A client is an address, an IPv6 /64, or a session over LMTP. Beyond
   * these limits, MAIL or DATA gets 451. Parsing needs about as much memory again.
   */
  bytesInFlightMax: 128 * MIB,
  /**
   * Two blocks of the message buffer (64 KiB each). 200 sessions need 25 MiB: less than the reserved
   * quarter.
   */
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
   * A message must bring this many bytes in each `dataPeriodMs`: 1 KiB/s. Otherwise the client gets 421. A
   * slower client would hold memory and a session for ten minutes.
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
   * final dot (RFC 5321, 4.5.3.2.6).
   */
  receiveTimeoutMs: 90 * SECOND_MS,
  /**
   * 4xx and 5xx answers in one session. 452 does not count. After the last one the client gets 421. One
   * message to 50 unknown recipients passes. The next one hits the limit.
   */
  errorsPerSessionMax: 60,
  /**
   * Commands since the last accepted message, or since the start. After the last one the client gets 421. A
   * server must accept 100 recipients (RFC 5321, 4.5.3.1.8). We answer 452 to those over 50, and that must
   * not end the session. 1,000 is ten times that.
   */
  commandsPerMessageMax: 1_000,
};

export type InboundLimits = Readonly<Record<keyof typeof DEFAULT_LIMITS, number>>;
