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
} as const;
