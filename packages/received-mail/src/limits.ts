/*
 * Limits on what we read. No standard sets them. Each is far above what mail programs write. Together they
 * keep the largest message, 10 MiB, within 128 MiB of heap.
 */

/** Levels of nested multiparts. Each level scans its bytes once more. */
export const DEPTH_MAX = 32;

/** Parts of a message, multiparts included. Each attachment becomes a row and an object. */
export const PARTS_MAX = 1_000;

/** Scanned bytes of a header block. A To of 100,000 addresses (2.4 MB) hides no From behind it. */
export const HEADER_SCAN_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Scanned lines of a header block. 200,000 of the shortest lines take 45 ms. After a worker thread is lost,
 * the main thread spends this time.
 */
export const HEADER_LINES_MAX = 200_000;

/** Kept bytes of a field: 800 ids of 80 bytes fit. Postfix keeps 100 KiB (header_size_limit). */
export const FIELD_BYTES_MAX = 64 * 1024;

/** Listed fields of a message. */
export const HEADERS_MAX = 1_000;

/** Bytes of all listed fields together, before decoding. They go into one row. */
export const HEADER_BYTES_MAX = 256 * 1024;

/** Fields with the same name that we read for the record. RFC 5322 3.6 allows one. */
export const FIELDS_OF_A_NAME_MAX = 10;

/** Addresses in From, To, Cc or Reply-To. In From, repeats do not count. */
export const ADDRESSES_MAX = 1_000;

/** Levels of nested groups that postal-mime reads. It drops deeper ones. RFC 5322 3.4 allows no nesting. */
export const GROUP_DEPTH_MAX = 50;

/** Levels of nested encoded words. No program writes them, and each level can triple the length. */
export const WORD_DEPTH_MAX = 3;

/** Ids kept from References: the first, and the newest. */
export const REFERENCES_MAX = 200;

/** Bytes of a Message-ID: one line of RFC 5322 2.1.1. An index of Postgres takes values up to 2,704 bytes. */
export const ID_BYTES_MAX = 998;

/** Characters of a name or a file name: one line of RFC 5322 2.1.1. */
export const LINE_CHARACTERS_MAX = 998;

/** Characters of HTML that become text. They take at most 0.3 s. */
export const HTML_CHARACTERS_MAX = 512 * 1024;

/** Levels of nested HTML elements. */
export const HTML_DEPTH_MAX = 500;

/** Characters of a link address in the text. */
export const LINK_CHARACTERS_MAX = 2_000;

/**
 * Characters read from Content-Type and similar fields. A file name in RFC 2231 takes up to 9 characters for
 * each of its own.
 */
export const STRUCTURED_FIELD_CHARACTERS_MAX = 16 * 1024;
