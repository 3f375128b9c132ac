/*
 * Limits of what is read. None of them is a standard's: each is far above what mail programs write, and keeps
 * the largest message, 10 MiB, within 128 MiB of heap.
 */

/** Levels of multipart in multipart. Each is one more scan of its bytes. */
export const DEPTH_MAX = 32;

/** Parts of a message, the multiparts among them. Each attachment becomes a row and an object. */
export const PARTS_MAX = 1_000;

/** Bytes of a header block that are scanned: a To of 100,000 addresses (2.4 MB) hides no From behind it. */
export const HEADER_SCAN_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Lines of a header block that are scanned. The most and shortest take 45 ms, in the main thread when a
 * thread was lost.
 */
export const HEADER_LINES_MAX = 200_000;

/** Bytes of one field that are kept: 800 ids of 80 bytes. Postfix keeps 100 KiB (header_size_limit). */
export const FIELD_BYTES_MAX = 64 * 1024;

/** Fields that are listed. */
export const HEADERS_MAX = 1_000;

/** Bytes of all listed fields together, before decoding. They go into one row. */
export const HEADER_BYTES_MAX = 256 * 1024;

/** Fields of one name that count, of those that a message's record is made of. RFC 5322 3.6 allows one. */
export const FIELDS_OF_A_NAME_MAX = 10;

/** Addresses in From, To, Cc or Reply-To. Of From, repeats do not count. */
export const ADDRESSES_MAX = 1_000;

/** Groups in groups that postal-mime reads; it leaves out whatever is deeper. RFC 5322 3.4 allows none. */
export const GROUP_DEPTH_MAX = 50;

/** Encoded words in encoded words. No program writes them, and each level can be three times as long. */
export const WORD_DEPTH_MAX = 3;

/** Ids of References: the first, and the newest. */
export const REFERENCES_MAX = 200;

/** Bytes of a Message-ID: one line of RFC 5322 2.1.1. Postgres' indexes take 2,704 bytes of a value. */
export const ID_BYTES_MAX = 998;

/** Characters of a name or a file name: one line of RFC 5322 2.1.1. */
export const LINE_CHARACTERS_MAX = 998;

/** Characters of HTML that are turned into text: at most 0.3 s. */
export const HTML_CHARACTERS_MAX = 512 * 1024;

/** Open elements of HTML. */
export const HTML_DEPTH_MAX = 500;

/** Characters of a link that is shown in text. */
export const LINK_CHARACTERS_MAX = 2_000;

/**
 * Characters of Content-Type and the like that are read. A file name in RFC 2231 takes up to 9 for one of its
 * own.
 */
export const STRUCTURED_FIELD_CHARACTERS_MAX = 16 * 1024;
