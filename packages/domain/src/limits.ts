/** Contract section 8 and the rulings beside it: sizes in bytes, everything else in pieces. */
export const LIMITS = {
  bodyBytes: 64 * 1024,
  emailBodyBytes: 8 * 1024 * 1024,
  /** A body of a send between its own limit and this is refused in plain text, above it by a problem document. */
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
  /** A subject, and the value of a header: with the fold's space in front, what RFC 5322 2.1.1 lets a line hold. */
  headerLength: 997,
  deadLettersListed: 100,
  /** Of one webhook, in one request. */
  deadLettersReplayed: 1_000,
  /** Entries of one page of a list, and how many when the request does not say. */
  pageEntries: 100,
  pageEntriesDefault: 20,
  endpointLength: 2048,
  /** Of a topic, in characters; as Resend has them. */
  topicNameLength: 50,
  topicDescriptionLength: 200,
  /** Addresses or ids of one request. */
  suppressionsBatch: 100,
  suppressionReasonLength: 500,
  /** Of an account, of both kinds of keys together. */
  inboxes: 100,
  /** Of an account. */
  blockedSenders: 10_000,
  /** What the record of a message holds of its text, in UTF-8, of each list, and of its subject and names, in characters. */
  recordTextBytes: 16 * 1024,
  recordEntries: 100,
  recordNameLength: 998,
  /** A received message, as it came (SMTP's SIZE). */
  receivedBytes: 10 * 1024 * 1024,
  /** Live messages from an inbox's address in an hour, and of these into one thread. */
  inboxSendsPerHour: 60,
  threadSendsPerHour: 10,
  /** Text and HTML of a reply together, in UTF-8, and the body of its request. */
  replyBytes: 512 * 1024,
  replyBodyBytes: 4 * 1024 * 1024,
  /** HTML and text of a page of a thread's messages. */
  threadPageBytes: 8 * 1024 * 1024,
  /** Of a link to an attachment or a raw message: seven days. */
  linkMs: 7 * 24 * 60 * 60 * 1000,
  /** Of an inbox or a rule, in characters. */
  inboundNameLength: 100,
} as const;
