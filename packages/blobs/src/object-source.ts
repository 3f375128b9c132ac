/** Reads objects that another service put into S3. */
export interface ObjectSource {
  /**
   * Reads a whole object.
   *
   * @throws BlobStoreUnavailableError when S3 is away, refuses us, or exceeds the time limit
   */
  read(object: { readonly bucket: string; readonly key: string }): Promise<ObjectReading>;
  /** Aborts running reads. A later read fails at once. */
  close(): void;
}

export type ObjectReading =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'gone' }
  | { readonly kind: 'too_big' };
