/*
 * Limits on what we read. No standard sets them. Each is far above what mail programs write. mailparser has
 * further limits: 1,000 parts, and 1 MiB for the header of a part.
 */

/** Bytes of a message's header that the libraries get. Postfix keeps 100 KiB (header_size_limit). */
export const HEADER_BYTES_MAX = 256 * 1024;

/**
 * Lines of a message's header that the libraries get. The time of mailauth grows with the square of the lines
 * of a field: it takes 40 s for 128,000 short lines.
 */
export const HEADER_LINES_MAX = 5_000;

/** Bytes of a header field: 800 ids of 80 bytes fit. */
export const FIELD_BYTES_MAX = 64 * 1024;

/**
 * Signatures that we check, from the top, where the last hops add theirs. RFC 6376 6.1 allows such a limit.
 * Each costs up to 3 s: a hash of 10 MiB of short lines.
 */
export const SIGNATURES_MAX = 5;

/** A signature with a key of 4096 bits and many fields has about 2 KB. */
export const SIGNATURE_BYTES_MAX = 8 * 1024;

/** Characters of an address, a name or a file name: one line of RFC 5322 2.1.1. */
export const LINE_CHARACTERS_MAX = 998;

/** Characters of an HTML part that becomes text. */
export const HTML_CHARACTERS_MAX = 512 * 1024;

/**
 * Steps to convert the HTML of a message, as `conversionSteps` counts them. At this limit the conversion
 * takes 1 to 4 s. It allows HTML of 512 KiB inside 7 nested quotes, and 40 KiB inside 100.
 */
export const HTML_STEPS_MAX = 8 * HTML_CHARACTERS_MAX;

/** Characters of converted text that is longer than its message: `<hr>`, 4 bytes, becomes 80 dashes. */
export const LONGER_TEXT_CHARACTERS_MAX = 256 * 1024;
