/**
 * Types of the parts of mailauth 4.13.3 that we use. We import them by file: `mailauth` itself would bring an
 * HTTP client, an XML parser and the checks of logos (BIMI) into every bundle.
 */
declare module 'mailauth/lib/tools.js' {
  interface DkimTags {
    readonly parsed: Readonly<Record<string, { readonly value: unknown } | undefined>>;
  }

  /**
   * Parses the tags of a DKIM-Signature. Numeric values become numbers. White space is removed from `b`, `bh`
   * and `h`.
   */
  export function parseDkimHeaders(line: Buffer): DkimTags;

  /**
   * Queries a key (RFC 6376, section 3.6).
   *
   * @returns PEM, and the record of the key without white space
   * @throws the error of the resolver, or an error with a code: EINVALIDVER, EINVALIDTYPE, EINVALIDVAL,
   * ESHORTKEY
   */
  export function getPublicKey(
    type: 'DKIM',
    name: string,
    minBitLength: number,
    resolver: (name: string, type: string) => Promise<unknown[]>,
  ): Promise<{ readonly publicKey: string; readonly rr: string }>;
}

declare module 'mailauth/lib/spf/index.js' {
  /** Evaluates SPF (RFC 7208). */
  export function spf(options: {
    readonly sender: string;
    readonly ip: string;
    readonly helo: string;
    readonly resolver: (name: string, type: string) => Promise<unknown[]>;
  }): Promise<{ readonly domain: string; readonly status: { readonly result: string } }>;
}
