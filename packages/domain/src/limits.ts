/** The limits of contract section 8 and our rulings. Names say the unit; the rest are counts. */
export const LIMITS = {
  bodyBytes: 64 * 1024,
  emailBodyBytes: 8 * 1024 * 1024,
  /** A send over `emailBodyBytes` gets 413 in plain text. Over this limit, the 413 is a problem document. */
  emailBodyPlainTextBytes: 32 * 1024 * 1024,
  /** SNS sends up to 256 KiB of text, which JSON may escape. */
  snsBodyBytes: 512 * 1024,
  messageBytes: 5 * 1024 * 1024,
  recipients: 50,
  headers: 50,
  tags: 50,
  attachments: 50,
  filenameLength: 255,
  contentIdLength: 128,
  tagLength: 256,
  batchMessages: 100,
  batchBodyBytes: 32 * 1024 * 1024,
  idempotencyKeyLength: 256,
  /** A subject or a header value. With the fold's leading space it fills a line of RFC 5322 2.1.1. */
  headerLength: 997,
  /** `References` of ids in angle brackets, folded between them: 200 ids of 80 characters. */
  referencesLength: 16 * 1024,
  deadLettersListed: 100,
  /** Dead letters that one request replays for a webhook. */
  deadLettersReplayed: 1_000,
  /** Events a second that a recovery queues. */
  recoveryRateMax: 2_000,
  recoveryRateDefault: 200,
  /** Events that one request looks at to count what a recovery would send. */
  recoveryEventsCounted: 500_000,
  /** Entries on one page of a list: the maximum and the default. */
  pageEntries: 100,
  pageEntriesDefault: 20,
  endpointLength: 2048,
  webhookDescriptionLength: 255,
  webhookDomains: 100,
  /** Headers of a customer on each attempt, and the characters of their names and values together. */
  webhookHeaders: 10,
  webhookHeadersLength: 8192,
  /** Characters, as at Resend. */
  topicNameLength: 50,
  topicDescriptionLength: 200,
  /** Addresses or ids in one request. */
  suppressionsBatch: 100,
  suppressionReasonLength: 500,
  /** Inboxes of an account, for live and test keys together. */
  inboxes: 100,
  /** Entries per account. */
  blockedSenders: 10_000,
  /**
   * The record of a received message: bytes in JSON, bytes of text in UTF-8, entries per list, characters per
   * name or subject.
   */
  recordBytes: 64 * 1024,
  recordTextBytes: 16 * 1024,
  recordEntries: 100,
  recordNameLength: 998,
  /** Bytes in UTF-8 of the text and of the HTML in the answer about one received message. */
  messageBodyBytes: 1024 * 1024,
  /** The images within the HTML of a received message, before base64. */
  inlineImageBytes: 1024 * 1024,
  /** A received message as sent (SMTP's SIZE). */
  receivedBytes: 10 * 1024 * 1024,
  /** Messages that live keys send per hour: from an inbox's address, and into one mail thread. */
  inboxSendsPerHour: 60,
  threadSendsPerHour: 10,
  /** Addresses of a received Reply-To that one reply goes to. */
  replyToAddresses: 10,
  /** A reply: text and HTML together in UTF-8, and the request's body. */
  replyBytes: 512 * 1024,
  replyBodyBytes: 4 * 1024 * 1024,
  /** Bodies, names and addresses on one page of a mail thread's messages. */
  threadPageBytes: 8 * 1024 * 1024,
  /** A search in an inbox looks at this number of received messages, and of sent ones. */
  searchedMessages: 500,
  /** Characters of a searched word, and addresses in one parameter. */
  searchLength: 200,
  searchAddresses: 20,
  /** Events that one request for metrics counts, and the days of its range. */
  metricEvents: 50_000,
  metricDays: 31,
  /** Entries of the answer about metrics: periods, domains and messages. */
  metricEntries: 10_000,
  /** Entries of a parameter with a list, such as `metrics` or `email_id`. */
  metricListEntries: 50,
  /** Data of the events on one page of a list, or records of received messages. */
  eventPageBytes: 8 * 1024 * 1024,
  /** A link to an attachment or a raw message is valid for seven days. */
  linkMs: 7 * 24 * 60 * 60 * 1000,
  /** Characters in the name of an inbox or a routing rule. */
  inboundNameLength: 100,
} as const;

/** A limit in words: `5 MiB`, `512 KiB`. */
export function inWords(bytes: number): string {
  const kib = bytes / 1024;
  return kib % 1024 === 0 ? `${kib / 1024} MiB` : `${kib} KiB`;
}
